//! A payments service on a loopback socket that honours idempotency keys: the same key gets the first receipt.
//!
//! One line a request, the key; one line an answer, the receipt.

use std::collections::BTreeMap;
use std::io::{self, BufRead, BufReader, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

/// The service, in a thread of this process that ends with it.
pub(crate) struct Service {
    address: SocketAddr,
    receipts: Arc<Mutex<BTreeMap<String, String>>>,
    closed: Arc<AtomicBool>,
}

impl Service {
    pub(crate) fn start() -> io::Result<Self> {
        let listener = TcpListener::bind("127.0.0.1:0")?;
        let service = Self { address: listener.local_addr()?, receipts: Arc::default(), closed: Arc::default() };
        let (book, closed) = (Arc::clone(&service.receipts), Arc::clone(&service.closed));
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten().take_while(|_| !closed.load(Ordering::Acquire)) {
                let _ = serve(&stream, &book); // a client that was killed is no reason to stop
            }
        });
        Ok(service)
    }

    pub(crate) fn address(&self) -> SocketAddr {
        self.address
    }

    /// How many payments were made.
    pub(crate) fn payments(&self) -> usize {
        self.receipts.lock().unwrap().len()
    }
}

impl Drop for Service {
    fn drop(&mut self) {
        self.closed.store(true, Ordering::Release);
        let _ = TcpStream::connect(self.address); // wakes the thread
    }
}

fn serve(stream: &TcpStream, receipts: &Mutex<BTreeMap<String, String>>) -> io::Result<()> {
    let mut key = String::new();
    BufReader::new(stream).read_line(&mut key)?;
    let receipt = {
        let mut receipts = receipts.lock().unwrap();
        let next = format!("R-{}", receipts.len() + 1);
        receipts.entry(key.trim_end().to_owned()).or_insert(next).clone()
    };
    let mut answer = stream;
    writeln!(answer, "{receipt}")
}

/// A client: pays and gives the receipt.
pub(crate) fn pay(service: SocketAddr, key: &str) -> io::Result<String> {
    let mut stream = TcpStream::connect(service)?;
    writeln!(stream, "{key}")?;
    let mut receipt = String::new();
    BufReader::new(stream).read_line(&mut receipt)?;
    match receipt.trim_end() {
        "" => Err(io::Error::other("the payments service hung up")),
        receipt => Ok(receipt.to_owned()),
    }
}
