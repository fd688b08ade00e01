//! How long publishing may take, and what of that is left. A comment is not worth more.

use std::time::Duration;

use super::trouble::Trouble;

/// How long publishing may take.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Patience {
    /// All waiting of one publication together.
    pub(crate) budget: Duration,
    /// Requests sent again, of one publication together: three requests at most where each one fails.
    pub(crate) resends: u32,
    /// Where a host says "too fast" without saying how long. GitHub's documentation asks for a minute
    /// (docs.github.com, "Rate limits for the REST API", exceeding the rate limit).
    pub(crate) unstated: Duration,
    /// Before the first repetition after a lost answer; doubled for the next.
    pub(crate) backoff: Duration,
    /// One request, from connect to last byte.
    pub(crate) request: Duration,
}

impl Default for Patience {
    fn default() -> Self {
        Self {
            budget: Duration::from_secs(60),
            resends: 2,
            unstated: Duration::from_secs(60),
            backoff: Duration::from_secs(1),
            request: Duration::from_secs(30),
        }
    }
}

/// What is left of it, for the requests of one publication.
pub(super) struct Waiting {
    patience: Patience,
    resent: u32,
    waited: Duration,
    limited: bool,
}

impl Waiting {
    pub(super) fn new(patience: Patience) -> Self {
        Self { patience, resent: 0, waited: Duration::ZERO, limited: false }
    }

    /// One request, from connect to last byte.
    pub(super) fn request(&self) -> Duration {
        self.patience.request
    }

    /// Did the server ask to slow down? Then only what is needed is sent.
    pub(super) fn was_limited(&self) -> bool {
        self.limited
    }

    /// Waits as the trouble asks for, if another request is allowed and the wait is within the budget.
    /// False: give up, without having waited.
    pub(super) async fn pause(&mut self, trouble: &Trouble) -> bool {
        let wait = match trouble {
            Trouble::Limited { wait, .. } => {
                self.limited = true;
                wait.unwrap_or(self.patience.unstated)
            }
            Trouble::Lost { .. } => self.patience.backoff.saturating_mul(2u32.saturating_pow(self.resent)),
            Trouble::Refused { .. } | Trouble::Unreadable { .. } => return false,
        };
        let total = self.waited.saturating_add(wait);
        if self.resent >= self.patience.resends || total > self.patience.budget {
            return false;
        }
        self.resent = self.resent.saturating_add(1);
        self.waited = total;
        tokio::time::sleep(wait).await;
        true
    }
}
