//! One batch from here to the provider and back: submit, look, fetch.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use super::desk::Tally;
use super::parcel::{Origin, Parcel};
use super::{Shared, counted, now, remembered};
use crate::domain::{Event, FailureKind, RetryClass};
use crate::engine::retry::wait;
use crate::net::{BatchApi, BatchStatus, ItemResult, Rejection, Sought};

/// Attempts at submitting, and at fetching what is there.
const ATTEMPTS: u32 = 6;
/// The pause before the second look at a batch; the ones after grow by half.
const FIRST_PAUSE: Duration = Duration::from_secs(1);
/// A submission that was cut off may appear at the provider so many seconds later.
const APPEARS: i64 = 30;
const LOOK_AGAIN: Duration = Duration::from_secs(3);
/// The pause between two lines about one batch: grows from the first to the second.
const QUIET: (Duration, Duration) = (Duration::from_secs(2), Duration::from_secs(600));

/// Why a batch brings nothing.
enum Lost {
    /// No provider has it: its calls may be submitted again.
    Nowhere,
    /// It was refused, or nobody can ask for it.
    Rejected(Box<Rejection>),
}

impl From<Rejection> for Lost {
    fn from(rejection: Rejection) -> Self {
        Self::Rejected(Box::new(rejection))
    }
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
        Err(Lost::Rejected(rejection)) => shared.give_up(&parcel, &rejection),
        Err(Lost::Nowhere) => {
            shared.forget(&parcel).await;
            shared.start_over(&parcel);
        }
    }
}

struct Trip<'a> {
    shared: &'a Shared,
    parcel: &'a Parcel,
    api: &'a dyn BatchApi,
}

impl Trip<'_> {
    async fn see_through(&self) -> Result<HashMap<String, ItemResult>, Lost> {
        let candidates = match (self.parcel.id(), self.parcel.origin) {
            (Some(id), _) => {
                self.shared.note(format!("{} of an earlier run is waited for", self.parcel.name()));
                vec![id]
            }
            (None, Origin::ThisRun) => self.submit().await?,
            (None, Origin::EarlierRun) => self.rediscover().await?,
        };
        for id in candidates {
            self.parcel.set_id(&id);
            let Some(files) = self.wait_for(&id).await? else { continue };
            let results = self.fetch(&id, &files).await?;
            if self.parcel.is_strange_to(&results) {
                tracing::debug!("batch {id} is somebody else's");
                continue;
            }
            return Ok(results);
        }
        Err(Lost::Nowhere)
    }

    /// Submits once, as far as that can be known; returns the id it got, or those it may have got.
    async fn submit(&self) -> Result<Vec<String>, Lost> {
        let written = remembered(self.parcel);
        self.shared.registered(move |register| register.begin(&written)).await.map_err(|problem| {
            let why = format!("a batch could not be remembered, so it was not submitted: {problem}");
            Rejection::new(FailureKind::Internal, RetryClass::Endpoint, why)
        })?;
        let items = self.shared.desk().items(&self.parcel.keys);
        self.shared.submitted.fetch_add(items.len() as u64, Ordering::Relaxed);
        let mut attempt = 1;
        loop {
            let rejection = match self.api.submit(self.shared.outside.as_ref(), &self.parcel.tag, &items).await {
                Ok(id) => return Ok(vec![self.submitted(id).await]),
                Err(rejection) => rejection,
            };
            if rejection.class != RetryClass::Retry {
                // It was not taken, and will not be.
                self.shared.forget(self.parcel).await;
                let message = format!("a batch of {} was not accepted: {}", counted(items.len()), rejection.message);
                return Err(Rejection { class: RetryClass::Endpoint, message, ..rejection }.into());
            }
            if attempt >= ATTEMPTS {
                let message = format!(
                    "a batch of {} could not be submitted ({attempt} attempts): {}",
                    counted(items.len()),
                    rejection.message
                );
                return Err(Rejection { class: RetryClass::Endpoint, message, ..rejection }.into());
            }
            self.pause(attempt, &rejection, "submitting a batch").await;
            attempt += 1;
            // The answer may have been lost on its way back.
            if rejection.kind != FailureKind::RateLimited {
                let found = self.find().await?;
                if !found.is_empty() {
                    return Ok(found);
                }
            }
        }
    }

    async fn submitted(&self, id: String) -> String {
        let (tag, written) = (self.parcel.tag.clone(), id.clone());
        if let Err(problem) = self.shared.registered(move |register| register.submitted(&tag, &written)).await {
            // It can still be found.
            tracing::debug!("the id of batch {id} could not be kept: {problem}");
        }
        self.shared.note(format!("batch {id} submitted: {}", counted(self.parcel.keys.len())));
        id
    }

    /// The batch of an earlier run that ended before it knew the id.
    async fn rediscover(&self) -> Result<Vec<String>, Lost> {
        loop {
            let found = self.find().await?;
            if !found.is_empty() {
                return Ok(found);
            }
            if now().saturating_sub(self.parcel.since) >= APPEARS {
                return Ok(Vec::new());
            }
            tokio::time::sleep(LOOK_AGAIN).await;
        }
    }

    /// Where a service keeps no list of batches, there is nothing to find.
    async fn find(&self) -> Result<Vec<String>, Lost> {
        let requests = self.parcel.keys.len();
        let sought = Sought { tag: self.parcel.tag.clone(), since: self.parcel.since, requests };
        let found = self.persist("looking for a batch", || self.api.find(self.shared.outside.as_ref(), &sought)).await;
        match found {
            Ok(found) => {
                let desk = self.shared.desk();
                Ok(found.into_iter().filter(|id| !desk.knows(id)).collect())
            }
            Err(rejection) if rejection.kind == FailureKind::NotFound => {
                self.shared.note(format!(
                    "warning: whether a batch of {} arrived is not known, since {} has no list of batches; it is submitted again",
                    counted(requests),
                    self.parcel.endpoint
                ));
                Ok(Vec::new())
            }
            Err(rejection) => Err(rejection.into()),
        }
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
                    return Err(Rejection::new(FailureKind::BadRequest, RetryClass::Endpoint, why).into());
                }
                Ok(BatchStatus::Running { done }) => {
                    if news.worth_telling(done) {
                        self.shared.note(format!("batch {id} in progress: {done} of {}", self.parcel.keys.len()));
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
                    return Err(Rejection { class: RetryClass::Endpoint, message, ..rejection }.into());
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
            Rejection { class: RetryClass::Endpoint, message, ..rejection }.into()
        })
    }

    /// Tries again what can succeed and costs nothing.
    async fn persist<T, F: Future<Output = Result<T, Rejection>>>(
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

    async fn pause(&self, attempt: u32, rejection: &Rejection, what: &str) {
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
