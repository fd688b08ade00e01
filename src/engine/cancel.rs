//! The wish to stop, seen by everyone who waits.

use std::sync::Arc;

use tokio::sync::watch;

/// Why the run is to stop, once it is.
type Wish = Option<Arc<str>>;

/// Sends the wish.
#[derive(Clone, Debug)]
pub struct Canceller(watch::Sender<Wish>);

/// Sees the wish.
#[derive(Clone, Debug)]
pub struct Cancel(watch::Receiver<Wish>);

/// A connected pair.
pub fn cancellation() -> (Canceller, Cancel) {
    let (sender, receiver) = watch::channel(None);
    (Canceller(sender), Cancel(receiver))
}

impl Canceller {
    /// Stops the run; `why` is a sentence without its end, such as "the run was cancelled". The first reason stays.
    pub fn cancel(&self, why: &str) {
        self.0.send_if_modified(|wish| {
            let first = wish.is_none();
            wish.get_or_insert_with(|| why.into());
            first
        });
    }
}

impl Cancel {
    pub fn is_cancelled(&self) -> bool {
        self.0.borrow().is_some()
    }

    /// Why, where the run is cancelled.
    pub fn why(&self) -> Wish {
        self.0.borrow().clone()
    }

    /// Returns once the run is cancelled; never where nobody can cancel any more.
    pub async fn cancelled(&self) {
        let mut receiver = self.0.clone();
        if receiver.wait_for(Option::is_some).await.is_err() {
            std::future::pending::<()>().await;
        }
    }
}
