//! Submitting a batch once, and finding out whether one was made where the answer does not tell.
//!
//! A submission is a paid order. It is given again only where it is known that no batch was made: the provider said no, or its list of
//! batches does not show one so long afterwards that it would (`batch.appears`).

use std::collections::HashSet;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use super::voyage::{ATTEMPTS, Lost, Trip, lost};
use super::{Billed, counted, now_us, remembered};
use crate::domain::{FailureKind, RetryClass};
use crate::net::{NotSubmitted, Rejection, Sought};
use crate::store::Batches;

/// The longest pause between two looks at a list of batches.
const LOOK_AGAIN: Duration = Duration::from_secs(3);

/// What a search for a batch came to.
pub(super) enum Looked {
    /// Ids of batches that may be the one.
    Found(Vec<String>),
    Absent,
    /// The service keeps no list of batches.
    NoList,
}

impl Trip<'_> {
    /// Submits once, as far as that can be known; returns the id it got, or those it may have got.
    pub(super) async fn submit(&self) -> Result<Vec<String>, Lost> {
        let items = self.shared.desk().items(&self.parcel.keys);
        let requests = counted(items.len());
        let mut attempt = 1;
        // Whether a batch may have been made all the same.
        let mut billed = Billed::No;
        loop {
            self.write_down(attempt, billed).await?;
            if attempt == 1 {
                self.shared.submitted.fetch_add(items.len() as u64, Ordering::Relaxed);
            }
            let rejection = match self.api.submit(self.shared.outside.as_ref(), &self.parcel.tag, &items).await {
                Ok(id) => return Ok(vec![self.submitted(id).await]),
                Err(NotSubmitted::Refused(rejection)) => rejection,
                Err(NotSubmitted::Unknown(rejection)) => {
                    billed = Billed::Perhaps;
                    if let Some(found) = self.find_out(&rejection).await? {
                        return Ok(found);
                    }
                    rejection
                }
            };
            let retry = rejection.class == RetryClass::Retry;
            if !retry || attempt >= ATTEMPTS {
                let message = match (retry, billed) {
                    (true, _) => {
                        format!(
                            "a batch of {requests} could not be submitted ({attempt} attempts): {}",
                            rejection.message
                        )
                    }
                    (false, Billed::No) => format!("a batch of {requests} was not accepted: {}", rejection.message),
                    (false, Billed::Perhaps) => format!(
                        "a batch of {requests} may have been submitted, and is not in the list of batches; a later run looks for it \
                         again: {}",
                        rejection.message
                    ),
                };
                if billed == Billed::No {
                    self.shared.forget(self.parcel).await;
                }
                return Err(lost(rejection, billed, message));
            }
            self.pause(attempt, &rejection, "submitting a batch").await;
            attempt += 1;
        }
    }

    /// Writes down that it is about to be submitted, and when: a later run looks for it from then on.
    async fn write_down(&self, attempt: u32, billed: Billed) -> Result<(), Lost> {
        self.parcel.begin_attempt(now_us());
        let batch = remembered(self.parcel);
        let write = move |register: &Batches| match attempt {
            1 => register.begin(&batch),
            _ => register.renew(&batch.tag, batch.since_us),
        };
        self.shared.registered(write).await.map_err(|problem| {
            let why = format!("a batch could not be remembered, so it was not submitted: {problem}");
            lost(Rejection::new(FailureKind::Internal, RetryClass::Endpoint, ""), billed, why)
        })
    }

    /// Looks for a batch whose submission came to `rejection`; `None`: it is not there, as far as that can be known.
    async fn find_out(&self, rejection: &Rejection) -> Result<Option<Vec<String>>, Lost> {
        let (requests, appears) = (counted(self.parcel.requests), self.api.patience().appears);
        self.shared.note(format!(
            "whether a batch of {requests} arrived is not known ({}); it is looked for, up to {} s long",
            rejection.message,
            appears.as_secs_f64()
        ));
        match self.look_for(appears, &HashSet::new()).await? {
            Looked::Found(found) => Ok(Some(found)),
            Looked::Absent => Ok(None),
            Looked::NoList => {
                if rejection.class == RetryClass::Retry {
                    self.tell_no_list();
                }
                Ok(None)
            }
        }
    }

    fn tell_no_list(&self) {
        self.shared.note(format!(
            "warning: whether a batch of {} arrived is not known, since {} has no list of batches; it is submitted again",
            counted(self.parcel.requests),
            self.parcel.endpoint
        ));
    }

    async fn submitted(&self, id: String) -> String {
        self.parcel.set_id(&id);
        let (tag, written) = (self.parcel.tag.clone(), id.clone());
        if let Err(problem) = self.shared.registered(move |register| register.submitted(&tag, &written)).await {
            // It can still be found.
            tracing::debug!("the id of batch {id} could not be kept: {problem}");
        }
        self.shared.note(format!("batch {id} submitted: {}", counted(self.parcel.requests)));
        id
    }

    /// The batch of an earlier run that ended before it knew the id.
    pub(super) async fn rediscover(&self) -> Result<Vec<String>, Lost> {
        let passed = now_us().saturating_sub(self.parcel.since_us());
        let passed = Duration::from_micros(u64::try_from(passed).unwrap_or_default());
        let longest = self.api.patience().appears.saturating_sub(passed);
        match self.look_for(longest, &HashSet::new()).await? {
            Looked::Found(found) => Ok(found),
            Looked::Absent => Ok(Vec::new()),
            Looked::NoList => {
                self.tell_no_list();
                Ok(Vec::new())
            }
        }
    }

    /// Looks for a batch until `longest` has passed, and once after that.
    pub(super) async fn look_for(&self, longest: Duration, strangers: &HashSet<String>) -> Result<Looked, Lost> {
        let begun = Instant::now();
        let pause = LOOK_AGAIN.min(self.api.patience().poll);
        loop {
            let left = longest.saturating_sub(begun.elapsed());
            let Some(mut found) = self.find().await? else { return Ok(Looked::NoList) };
            found.retain(|id| !strangers.contains(id));
            if !found.is_empty() {
                return Ok(Looked::Found(found));
            }
            if left.is_zero() {
                return Ok(Looked::Absent);
            }
            tokio::time::sleep(pause.min(left)).await;
        }
    }

    /// `None` where the service keeps no list of batches.
    async fn find(&self) -> Result<Option<Vec<String>>, Lost> {
        let since = self.parcel.since_us().div_euclid(1_000_000);
        let sought = Sought { tag: self.parcel.tag.clone(), since, requests: self.parcel.requests };
        let found = self.persist("looking for a batch", || self.api.find(self.shared.outside.as_ref(), &sought)).await;
        match found {
            Ok(found) => {
                let desk = self.shared.desk();
                Ok(Some(found.into_iter().filter(|id| !desk.knows(id)).collect()))
            }
            Err(rejection) if rejection.kind == FailureKind::NotFound => Ok(None),
            Err(rejection) => {
                let message = format!(
                    "whether a batch of {} arrived could not be found out, and a later run looks again: {}",
                    counted(self.parcel.requests),
                    rejection.message
                );
                Err(lost(rejection, Billed::Perhaps, message))
            }
        }
    }
}
