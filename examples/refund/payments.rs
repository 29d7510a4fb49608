//! A payments service on a loopback socket. It honours idempotency keys: the same key gets the first payment's receipt.
//!
//! One line a request, `REFUND <key> <cents>`; one line an answer, `<receipt>`.

use std::collections::HashMap;
use std::io::{BufRead, BufReader, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex, PoisonError};

use tokio::io::{AsyncBufReadExt, AsyncWriteExt};

/// The service, in a thread of this process.
pub struct Service {
    address: SocketAddr,
    book: Arc<Mutex<Book>>,
}

/// What the service knows.
#[derive(Debug, Default)]
struct Book {
    receipts: HashMap<String, String>,
    requests: usize,
}

impl Service {
    pub fn start() -> std::io::Result<Self> {
        let listener = TcpListener::bind("127.0.0.1:0")?;
        let address = listener.local_addr()?;
        let book = Arc::new(Mutex::new(Book::default()));
        let shared = Arc::clone(&book);
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let _ = serve(stream, &shared); // a client that went away is its own affair
            }
        });
        Ok(Self { address, book })
    }

    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// How many requests came in, and how many payments were made.
    pub fn counts(&self) -> (usize, usize) {
        let book = self.book.lock().unwrap_or_else(PoisonError::into_inner);
        (book.requests, book.receipts.len())
    }
}

fn serve(stream: TcpStream, book: &Mutex<Book>) -> std::io::Result<()> {
    let mut answers = stream.try_clone()?;
    for line in BufReader::new(stream).lines() {
        let line = line?;
        let mut words = line.split(' ');
        let (Some("REFUND"), Some(key)) = (words.next(), words.next()) else {
            writeln!(answers, "ERROR what?")?;
            continue;
        };
        writeln!(answers, "{}", refund(key, book))?;
    }
    Ok(())
}

/// Pays, unless this key was paid before.
fn refund(key: &str, book: &Mutex<Book>) -> String {
    let mut book = book.lock().unwrap_or_else(PoisonError::into_inner);
    book.requests += 1;
    let next = format!("R-{}", 1001 + book.receipts.len());
    book.receipts.entry(key.to_owned()).or_insert(next).clone()
}

/// A client of the service.
pub struct Bank {
    address: String,
}

impl Bank {
    pub fn at(address: impl Into<String>) -> Self {
        Self { address: address.into() }
    }

    pub async fn refund(&self, cents: u64, key: &str) -> std::io::Result<String> {
        let stream = tokio::net::TcpStream::connect(&self.address).await?;
        let (answers, mut requests) = stream.into_split();
        requests.write_all(format!("REFUND {key} {cents}\n").as_bytes()).await?;
        let mut receipt = String::new();
        tokio::io::BufReader::new(answers).read_line(&mut receipt).await?;
        match receipt.trim_end() {
            "" => Err(std::io::Error::other("the payments service hung up")),
            receipt => Ok(receipt.to_owned()),
        }
    }
}
