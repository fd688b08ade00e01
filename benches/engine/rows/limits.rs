//! P7 to P9: a provider that lets 100 requests a second through.

use crate::Error;
use crate::bench::{Bench, Pair, Work, medians};
use crate::measured::median;
use crate::provider::Limit;
use crate::table::Row;

const WORK: Work = Work { cases: 500, latency_ms: 50, workers: 32 };
const LIMIT: Limit = Limit { per_minute: 6000.0, burst: 50.0, headers: true, retry_after: true };

/// Seconds: what the bucket does not hold at the start has to flow in.
fn ideal() -> f64 {
    (WORK.calls() - LIMIT.burst) / (LIMIT.per_minute / 60.0) + WORK.latency_ms as f64 / 1000.0
}

/// Share of the requests that were refused.
fn refused(pairs: &[Pair]) -> f64 {
    median(pairs.iter().map(|pair| pair.seen.limited as f64 / pair.seen.requests.max(1) as f64))
}

pub fn with_headers(bench: &Bench) -> Result<Vec<Row>, Error> {
    let pairs = bench.limited(WORK, LIMIT)?;
    let (wall, floor) = medians(&pairs, |measured| measured.wall);
    let (ideal, refused) = (ideal(), refused(&pairs));
    let late = median(pairs.iter().map(|pair| pair.seen.limited_late as f64));
    let time = Row {
        name: "P7",
        what: format!("100 requests/s, told in headers: time (ideal {ideal:.2} s)"),
        target: "≤ 1.05 × ideal".to_owned(),
        measured: format!("{wall:.2} s = {:.2} × ideal", wall / ideal),
        floor: format!("{floor:.2} s = {:.2} × ideal", floor / ideal),
        pass: wall <= 1.05 * ideal,
    };
    let share = Row {
        name: "P8",
        what: "the same: 429s of requests sent; after 1 s".to_owned(),
        target: "≤ 1 %; 0".to_owned(),
        measured: format!("{:.1} %; {late:.0}", refused * 100.0),
        floor: String::new(),
        pass: refused <= 0.01 && late == 0.0,
    };
    Ok(vec![time, share])
}

pub fn without_headers(bench: &Bench) -> Result<Vec<Row>, Error> {
    let ways = [("only Retry-After", true, 1.15, 0.05), ("nothing told", false, 1.5, 0.10)];
    let row = |(what, retry_after, slowest, most): (&str, bool, f64, f64)| {
        let limit = Limit { headers: false, retry_after, ..LIMIT };
        let mut walls = Vec::new();
        let mut shares = Vec::new();
        for _ in 0..bench.repeat {
            let (measured, seen) = bench.once_limited(WORK, limit)?;
            walls.push(measured.wall);
            shares.push(seen.limited as f64 / seen.requests.max(1) as f64);
        }
        let (ideal, wall, refused) = (ideal(), median(walls), median(shares));
        Ok(Row {
            name: "P9",
            what: format!("100 requests/s, {what}: time; 429s"),
            target: format!("≤ {slowest} × ideal; ≤ {:.0} %", most * 100.0),
            measured: format!("{wall:.2} s = {:.2} × ideal; {:.1} %", wall / ideal, refused * 100.0),
            floor: String::new(),
            pass: wall <= slowest * ideal && refused <= most,
        })
    };
    ways.into_iter().map(row).collect()
}
