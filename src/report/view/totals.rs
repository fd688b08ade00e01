//! The counts that every report shows alike.

use std::time::Duration;

use crate::domain::{Run, Usd, Verdict};
use crate::text::number;

/// Sentences of numbers and fixed words.
#[derive(Clone, Debug)]
pub struct Totals {
    /// `140 cases, 682 of 682 scores measured (100%)`.
    pub measured: String,
    /// `280 requests, 3 retried, 12 answered by the ledger, 4 waits (2.5 s together)`; what no call was made for says so.
    pub calls: String,
    /// `12,345 + 678 tokens, $0.12`; `None` where nothing was counted.
    pub spent: Option<String>,
    /// Wall time: a declared time field, left out where two equal runs must give equal bytes.
    pub elapsed: Option<String>,
}

pub(super) fn totals(run: &Run, verdict: &Verdict) -> Totals {
    let counts = &verdict.cases;
    let mut measured = format!(
        "{}, {} of {} scores measured ({})",
        number::counted(counts.total, "case", "cases"),
        number::count(counts.cells_scored),
        number::count(counts.cells),
        number::rate(counts.cells_scored, counts.cells),
    );
    for (count, what) in
        [(counts.cells_errored, "failed"), (counts.cells_unusable, "unusable"), (counts.cells_skipped, "skipped")]
    {
        if count > 0 {
            measured.push_str(&format!(", {} {what}", number::count(count)));
        }
    }
    if verdict.trials > 1.0 && verdict.trials.is_finite() {
        measured.push_str(&format!(", {:.1} trials a case", verdict.trials));
    }
    measured.extend(lost_trials(run));
    let Some(end) = &run.completion else {
        return Totals {
            measured,
            calls: "calls not known: the results end in the middle".to_owned(),
            spent: None,
            elapsed: None,
        };
    };
    let calls = &end.calls;
    let mut made = if calls.requests == 0 && calls.cache_hits == 0 {
        "no calls were made".to_owned()
    } else {
        number::counted(calls.requests, "request", "requests")
    };
    for (count, what) in [
        (calls.retries, "retried"),
        (calls.cache_hits, "answered by the ledger"),
        (calls.repairs, "asked again for the form"),
    ] {
        if count > 0 {
            made.push_str(&format!(", {} {what}", number::count(count)));
        }
    }
    if calls.waits > 0 {
        let waited = number::duration(Duration::from_millis(calls.waited_ms));
        made.push_str(&format!(", {} ({waited} together)", number::counted(calls.waits, "wait", "waits")));
    }
    let mut spent = Vec::new();
    if !end.usage.is_empty() {
        let (prompt, completion) = (number::count(end.usage.prompt_tokens), number::count(end.usage.completion_tokens));
        let recorded = if calls.requests == 0 && calls.cache_hits == 0 { "recorded: " } else { "" };
        spent.push(format!("{recorded}{prompt} tokens read, {completion} written"));
    }
    spent.extend(end.cost.map(|Usd(dollars)| number::money(dollars)));
    let elapsed = (end.elapsed_ms > 0).then(|| number::duration(Duration::from_millis(end.elapsed_ms)));
    Totals { measured, calls: made, spent: (!spent.is_empty()).then(|| spent.join(", ")), elapsed }
}

/// What the scores of cases do not show: a case is scored by those of its trials that are there.
fn lost_trials(run: &Run) -> Option<String> {
    let trials = || run.cases.iter().filter(|case| case.trials.len() > 1).flat_map(|case| &case.trials);
    let lost = trials().filter(|trial| trial.lost()).count() as u64;
    (lost > 0).then(|| {
        let all: u64 = run.cases.iter().map(|case| case.trials.len() as u64).sum();
        format!(", {} of {} lost", number::count(lost), number::counted(all, "trial", "trials"))
    })
}
