//! The wish to stop, seen by everyone who waits.

use tokio::sync::watch;

/// Sends the wish.
#[derive(Clone, Debug)]
pub struct Canceller(watch::Sender<bool>);

/// Sees the wish.
#[derive(Clone, Debug)]
pub struct Cancel(watch::Receiver<bool>);

/// A connected pair.
pub fn cancellation() -> (Canceller, Cancel) {
    let (sender, receiver) = watch::channel(false);
    (Canceller(sender), Cancel(receiver))
}

impl Canceller {
    pub fn cancel(&self) {
        self.0.send_replace(true);
    }
}

impl Cancel {
    pub fn is_cancelled(&self) -> bool {
        *self.0.borrow()
    }

    /// Returns once the run is cancelled; never where nobody can cancel any more.
    pub async fn cancelled(&self) {
        let mut receiver = self.0.clone();
        if receiver.wait_for(|cancelled| *cancelled).await.is_err() {
            std::future::pending::<()>().await;
        }
    }
}
