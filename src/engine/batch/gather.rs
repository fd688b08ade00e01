//! When to submit: once nothing more is about to come, or the limits of a batch are reached.

use std::sync::atomic::Ordering;
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

use super::parcel::Parcel;
use super::voyage::voyage;
use super::{Key, Shared, now_us};
use crate::net::{BatchApi, BatchLimits};

/// How often groups are looked at.
const TICK: Duration = Duration::from_millis(50);
/// A group is complete when nothing came for so long and no other call is in flight that one could follow.
const SETTLED: Duration = Duration::from_millis(300);
/// A call waits no longer than this for others to join it.
const LONGEST: Duration = Duration::from_secs(120);
/// What a request takes in a batch beside its body, about.
const AROUND: usize = 256;

/// Calls to one interface that are in no batch yet.
pub(super) struct Group {
    api: Arc<dyn BatchApi>,
    endpoint: Arc<str>,
    /// With their sizes.
    calls: Vec<(Key, usize)>,
    first: Instant,
    last: Instant,
}

impl Group {
    pub(super) fn new(api: &Arc<dyn BatchApi>, endpoint: &Arc<str>, now: Instant) -> Self {
        let (api, endpoint) = (Arc::clone(api), Arc::clone(endpoint));
        Self { api, endpoint, calls: Vec::new(), first: now, last: now }
    }

    pub(super) fn add(&mut self, key: Key, size: usize, now: Instant) {
        if self.calls.is_empty() {
            self.first = now;
        }
        self.last = now;
        self.calls.push((key, size.saturating_add(AROUND)));
    }

    /// The calls to submit now.
    fn take(&mut self, complete: bool, now: Instant) -> Vec<Key> {
        let fit = fitting(&self.calls, self.api.limits());
        let old = now.saturating_duration_since(self.first) >= LONGEST;
        let settled = complete && now.saturating_duration_since(self.last) >= SETTLED;
        if fit == self.calls.len() && !old && !settled {
            return Vec::new();
        }
        self.calls.drain(..fit).map(|(key, _)| key).collect()
    }
}

/// How many of the first calls make one batch; at least one, if there is one.
fn fitting(calls: &[(Key, usize)], limits: BatchLimits) -> usize {
    let mut bytes = 0_usize;
    let fits = |(_, size): &&(Key, usize)| {
        bytes = bytes.saturating_add(*size);
        bytes <= limits.bytes
    };
    calls.iter().take(limits.requests).take_while(fits).count().max(usize::from(!calls.is_empty()))
}

/// Submits what is ready, until nobody is left or the run is to stop.
pub(super) async fn gather(desk: Weak<Shared>) {
    loop {
        let Some(shared) = desk.upgrade() else { return };
        for (parcel, api) in shared.ready() {
            drop(tokio::spawn(voyage(Arc::clone(&shared), parcel, api)));
        }
        let cancel = shared.cancel.clone();
        drop(shared);
        tokio::select! {
            _ = cancel.cancelled() => return,
            () = tokio::time::sleep(TICK) => {}
        }
    }
}

impl Shared {
    fn ready(&self) -> Vec<(Arc<Parcel>, Arc<dyn BatchApi>)> {
        if self.cancel.wish().is_some() {
            return Vec::new();
        }
        let complete = self.busy.load(Ordering::Relaxed) == 0;
        let instant = Instant::now();
        let mut desk = self.desk();
        let mut ready = Vec::new();
        for group in desk.groups.values_mut() {
            loop {
                let keys = group.take(complete, instant);
                if keys.is_empty() {
                    break;
                }
                let parcel = Arc::new(Parcel::new(Arc::clone(&group.endpoint), keys, now_us()));
                ready.push((parcel, Arc::clone(&group.api)));
            }
        }
        for (parcel, _) in &ready {
            desk.add(parcel);
        }
        ready
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_batch_keeps_both_limits() {
        let calls: Vec<(Key, usize)> = (0..10).map(|at| ([at; 32], 100)).collect();
        let fit = |requests, bytes| fitting(&calls, BatchLimits { requests, bytes });
        assert_eq!((fit(3, 10_000), fit(100, 350), fit(100, 1000), fit(100, 10)), (3, 3, 10, 1));
        assert_eq!(fitting(&[], BatchLimits { requests: 3, bytes: 3 }), 0);
    }
}
