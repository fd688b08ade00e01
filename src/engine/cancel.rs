//! The wish to stop, seen by everyone who waits.

use tokio::sync::watch;

/// Why a run stops before its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stop {
    /// Somebody asked for it.
    Cancelled,
    /// The suite's `run.deadline` has passed.
    Deadline,
}

impl Stop {
    pub(super) fn words(self) -> &'static str {
        match self {
            Self::Cancelled => "the run was cancelled",
            Self::Deadline => "the run's `deadline` passed",
        }
    }
}

/// Sends the wish.
#[derive(Clone, Debug)]
pub struct Canceller(watch::Sender<Option<Stop>>);

/// Sees the wish.
#[derive(Clone, Debug)]
pub struct Cancel(watch::Receiver<Option<Stop>>);

/// A connected pair.
pub fn cancellation() -> (Canceller, Cancel) {
    let (sender, receiver) = watch::channel(None);
    (Canceller(sender), Cancel(receiver))
}

impl Canceller {
    /// The first wish stands.
    pub fn cancel(&self, why: Stop) {
        self.0.send_if_modified(|wish| wish.is_none() && wish.replace(why).is_none());
    }
}

impl Cancel {
    /// Why the run is to stop; `None`: it goes on.
    pub fn wish(&self) -> Option<Stop> {
        *self.0.borrow()
    }

    /// Returns once the run is to stop; never where nobody can stop it any more.
    pub async fn cancelled(&self) -> Stop {
        let mut receiver = self.0.clone();
        let wish = receiver.wait_for(Option::is_some).await.map(|wish| *wish);
        match wish {
            Ok(Some(why)) => why,
            Ok(None) | Err(_) => std::future::pending().await,
        }
    }
}
