//! Futures polled by hand, so that they can be dropped at each of their await points.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};

use tokio::sync::Notify;

#[derive(Default)]
struct Woken(Notify);

impl Wake for Woken {
    fn wake(self: Arc<Self>) {
        self.0.notify_one();
    }
}

/// Polls a future at most so many times, each time but the first once it was woken; gives what it gave if it ended.
pub(crate) async fn poll_times<T>(mut future: Pin<&mut impl Future<Output = T>>, times: usize) -> Option<T> {
    let woken = Arc::new(Woken::default());
    let waker = Waker::from(Arc::clone(&woken));
    for time in 0..times {
        if time > 0 {
            woken.0.notified().await;
        }
        if let Poll::Ready(given) = future.as_mut().poll(&mut Context::from_waker(&waker)) {
            return Some(given);
        }
    }
    None
}

/// Lets everything else that can run, run. For runtimes of one thread.
#[allow(dead_code, reason = "each test uses what it needs")]
pub(crate) async fn let_others_run() {
    for _ in 0..1_000 {
        tokio::task::yield_now().await;
    }
}
