//! One batch from here to the provider and back: submit (see `submit`), look, fetch.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::desk::Tally;
use super::parcel::{Origin, Parcel};
use super::submit::Looked;
use super::{Billed, Shared};
use crate::domain::{Event, FailureKind, RetryClass};
use crate::engine::retry::wait;
use crate::net::{BatchApi, BatchStatus, ItemResult, Rejection};

/// Attempts at submitting, and at fetching what is there.
pub(super) const ATTEMPTS: u32 = 6;
/// The pause before the second look at a batch; the ones after grow by half.
const FIRST_PAUSE: Duration = Duration::from_secs(1);
/// The pause between two lines about one batch: grows from the first to the second.
const QUIET: (Duration, Duration) = (Duration::from_secs(2), Duration::from_secs(600));

/// Why a batch brings nothing.
pub(super) enum Lost {
    /// No provider has it: its calls may be submitted again.
    Nowhere,
    /// No answer will come of it in this run.
    Rejected(Box<Rejection>, Billed),
}

/// What is wrong with a batch is wrong for all its calls, and says nothing about any of them.
pub(super) fn lost(rejection: Rejection, billed: Billed, message: String) -> Lost {
    Lost::Rejected(Box::new(Rejection { class: RetryClass::Endpoint, message, ..rejection }), billed)
}

/// Sees a batch through; leaves it where it is when the run is to stop.
pub(super) async fn voyage(shared: Arc<Shared>, parcel: Arc<Parcel>, api: Arc<dyn BatchApi>) {
    let trip = Trip { shared: &shared, parcel: &parcel, api: api.as_ref() };
    let end = tokio::select! {
        end = trip.see_through() => end,
        _ = shared.cancel.cancelled() => return,
    };
    match end {
        Ok(results) => {
            let tally = shared.hand_out(&parcel, results);
            shared.note(ended(&parcel, &tally));
        }
        Err(Lost::Rejected(rejection, billed)) => shared.give_up(&parcel, &rejection, billed),
        Err(Lost::Nowhere) => {
            shared.forget(&parcel).await;
            shared.start_over(&parcel);
        }
    }
}

pub(super) struct Trip<'a> {
    pub(super) shared: &'a Shared,
    pub(super) parcel: &'a Parcel,
    pub(super) api: &'a dyn BatchApi,
}

impl Trip<'_> {
    async fn see_through(&self) -> Result<HashMap<String, ItemResult>, Lost> {
        let candidates = match (self.parcel.sure_id(), self.parcel.origin) {
            (Some(id), _) => {
                self.shared.note(format!("{} of an earlier run is waited for", self.parcel.name()));
                vec![id]
            }
            (None, Origin::ThisRun) => self.submit().await?,
            (None, Origin::EarlierRun) => self.rediscover().await?,
        };
        match self.parcel.sure_id() {
            Some(id) => {
                let files = self.wait_for(&id).await?.ok_or(Lost::Nowhere)?;
                self.fetch(&id, &files).await
            }
            None => self.try_all(candidates).await,
        }
    }

    /// Waits for one batch after the other that may be the one, until the results of one are those of this parcel.
    async fn try_all(&self, mut candidates: Vec<String>) -> Result<HashMap<String, ItemResult>, Lost> {
        let mut strangers = HashSet::new();
        while !candidates.is_empty() {
            for id in candidates {
                self.parcel.try_id(&id);
                if let Some(files) = self.wait_for(&id).await? {
                    let results = self.fetch(&id, &files).await?;
                    if !self.parcel.is_strange_to(&results) {
                        self.parcel.set_id(&id);
                        return Ok(results);
                    }
                    tracing::debug!("batch {id} is somebody else's");
                }
                strangers.insert(id);
            }
            // Its own may not have been in the list yet when these were.
            candidates = match self.look_for(self.api.patience().appears, &strangers).await? {
                Looked::Found(found) => found,
                Looked::Absent | Looked::NoList => Vec::new(),
            };
        }
        Err(Lost::Nowhere)
    }

    /// Looks until the batch has ended; where its results are. `None`: the provider does not know it.
    async fn wait_for(&self, id: &str) -> Result<Option<Vec<String>>, Lost> {
        let longest = self.api.patience().poll;
        let mut pause = FIRST_PAUSE.min(longest);
        let mut news = News::default();
        loop {
            let mut asked = None;
            match self.api.status(self.shared.outside.as_ref(), id).await {
                Ok(BatchStatus::Ended { files }) => return Ok(Some(files)),
                Ok(BatchStatus::Refused(why)) => {
                    self.shared.forget(self.parcel).await;
                    let why = format!("batch {id} was refused: {why}");
                    let refusal = Rejection::new(FailureKind::BadRequest, RetryClass::Endpoint, "");
                    return Err(lost(refusal, Billed::No, why));
                }
                Ok(BatchStatus::Running { done }) => {
                    if news.worth_telling(done) {
                        self.shared.note(format!("batch {id} in progress: {done} of {}", self.parcel.requests));
                    }
                }
                // A provider in trouble is waited for like a batch.
                Err(rejection) if rejection.class == RetryClass::Retry => asked = rejection.hint.retry_after,
                Err(rejection)
                    if rejection.kind == FailureKind::NotFound && self.parcel.origin == Origin::EarlierRun =>
                {
                    self.shared.note(format!(
                        "warning: batch {id} of an earlier run is not there any more, or belongs to another key; its requests are \
                         submitted again"
                    ));
                    return Ok(None);
                }
                Err(rejection) => {
                    let message = format!("batch {id} cannot be looked at: {}", rejection.message);
                    return Err(lost(rejection, Billed::Perhaps, message));
                }
            }
            tokio::time::sleep(pause.max(asked.unwrap_or_default())).await;
            pause = pause.saturating_add(pause / 2).min(longest);
        }
    }

    async fn fetch(&self, id: &str, files: &[String]) -> Result<HashMap<String, ItemResult>, Lost> {
        let outside = self.shared.outside.as_ref();
        let results = self.persist("fetching a batch", || self.api.results(outside, id, files)).await;
        results.map_err(|rejection| {
            let message = format!(
                "the results of batch {id} could not be fetched, and a later run tries again: {}",
                rejection.message
            );
            lost(rejection, Billed::Perhaps, message)
        })
    }

    /// Tries again what can succeed and costs nothing.
    pub(super) async fn persist<T, F: Future<Output = Result<T, Rejection>>>(
        &self,
        what: &str,
        mut work: impl FnMut() -> F,
    ) -> Result<T, Rejection> {
        let mut attempt = 1;
        loop {
            match work().await {
                Err(rejection) if rejection.class == RetryClass::Retry && attempt < ATTEMPTS => {
                    self.pause(attempt, &rejection, what).await;
                    attempt += 1;
                }
                end => return end,
            }
        }
    }

    pub(super) async fn pause(&self, attempt: u32, rejection: &Rejection, what: &str) {
        let pause = wait(attempt, rejection.hint.retry_after);
        let (endpoint, what) = (Arc::clone(&self.parcel.endpoint), format!("{what}: {}", rejection.message));
        self.shared.events.emit(Event::Retried { endpoint, what, wait: pause });
        tokio::time::sleep(pause).await;
    }
}

/// What was said about a batch, and when.
#[derive(Default)]
struct News {
    told: Option<(u64, Instant, Duration)>,
}

impl News {
    /// The first time, and whenever something changed and the last line is old enough.
    fn worth_telling(&mut self, done: u64) -> bool {
        let now = Instant::now();
        let quiet = match self.told {
            None => QUIET.0,
            Some((before, at, quiet)) if before != done && now.saturating_duration_since(at) >= quiet => {
                quiet.saturating_mul(2).min(QUIET.1)
            }
            Some(_) => return false,
        };
        self.told = Some((done, now, quiet));
        true
    }
}

/// `batch b ended: 398 of 400 answered; asked directly: 1 expired, 1 failed`
fn ended(parcel: &Parcel, tally: &Tally) -> String {
    let id = parcel.id().unwrap_or_default();
    let mut text = format!("batch {id} ended: {} of {} answered", tally.answered, parcel.keys.len());
    let (refused, why) = &tally.refused;
    if let Some(why) = why {
        text.push_str(&format!("; {refused} refused ({why})"));
    }
    let mut direct: Vec<String> = tally.direct.iter().map(|(why, count)| format!("{count} {why}")).collect();
    direct.sort();
    if !direct.is_empty() {
        text.push_str(&format!("; asked directly, at the full price: {}", direct.join(", ")));
    }
    text
}
