//! Child processes of a test: the test binary runs itself again, as one of its own tests, with orders in a variable.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, ExitStatus, Stdio};

/// The variable that carries the orders of a child.
const ORDERS: &str = "SUPERSTEP_TEST_CHILD";

/// What marks a line of ours among those of the test harness.
const MARK: &str = "> ";

/// The orders, if this process is a child.
pub(crate) fn orders() -> Option<String> {
    std::env::var(ORDERS).ok()
}

/// Says a line to the parent.
pub(crate) fn say(line: &str) {
    let mut out = std::io::stdout().lock();
    // A parent that is gone needs no answer.
    let _ = writeln!(out, "\n{MARK}{line}").and_then(|()| out.flush());
}

/// Waits for a line of the parent; `None` if it is gone.
#[allow(dead_code, reason = "each test uses what it needs")]
pub(crate) fn hear() -> Option<String> {
    let mut line = String::new();
    match std::io::stdin().read_line(&mut line) {
        Ok(0) | Err(_) => None,
        Ok(_) => Some(line.trim_end().to_owned()),
    }
}

/// A running child. Killed when dropped.
pub(crate) struct Process {
    child: Child,
    to: ChildStdin,
    from: BufReader<ChildStdout>,
}

#[allow(dead_code, reason = "each test uses what it needs")]
impl Process {
    /// Starts a child that runs the test of this name.
    pub(crate) fn start(test: &str, orders: &str) -> Self {
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", test, "--nocapture", "--test-threads=1"])
            .env(ORDERS, orders)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let (to, from) = (child.stdin.take().unwrap(), BufReader::new(child.stdout.take().unwrap()));
        Self { child, to, from }
    }

    /// The next line that the child says; `None` if it ended.
    pub(crate) fn hear(&mut self) -> Option<String> {
        loop {
            let mut line = String::new();
            if self.from.read_line(&mut line).unwrap() == 0 {
                return None;
            }
            if let Some(said) = line.strip_prefix(MARK) {
                return Some(said.trim_end().to_owned());
            }
        }
    }

    /// Says a line to the child.
    pub(crate) fn say(&mut self, line: &str) {
        writeln!(self.to, "{line}").unwrap();
    }

    /// SIGKILL.
    pub(crate) fn kill(mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    /// Waits for its end.
    pub(crate) fn end(mut self) -> ExitStatus {
        self.child.wait().unwrap()
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
