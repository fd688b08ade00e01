//! P1 to P4: CPU and time where the provider is well.

use crate::Error;
use crate::bench::{Bench, Work, medians};
use crate::table::Row;

const SMALL: Work = Work { cases: 1000, latency_ms: 0, workers: 32 };
const LARGE: Work = Work { cases: 3000, latency_ms: 0, workers: 32 };

/// CPU of one more call: the difference of two sizes.
pub fn marginal(bench: &Bench) -> Result<Vec<Row>, Error> {
    let (small, small_floor) = medians(&bench.pairs(SMALL)?, |measured| measured.cpu);
    let (large, large_floor) = medians(&bench.pairs(LARGE)?, |measured| measured.cpu);
    let calls = LARGE.calls() - SMALL.calls();
    let (call, floor) = ((large - small) / calls * 1e6, (large_floor - small_floor) / calls * 1e6);
    Ok(vec![Row {
        name: "P1",
        what: "CPU a judge call, marginal".to_owned(),
        target: "≤ 4 × floor".to_owned(),
        measured: format!("{call:.0} µs = {:.2} × floor", call / floor),
        floor: format!("{floor:.0} µs"),
        pass: call <= 4.0 * floor,
    }])
}

pub fn whole(bench: &Bench) -> Result<Vec<Row>, Error> {
    let (cpu, floor) = medians(&bench.pairs(SMALL)?, |measured| measured.cpu);
    let rate = SMALL.calls() / cpu;
    Ok(vec![Row {
        name: "P2",
        what: "calls per CPU second, whole run of 2000 at 0 ms".to_owned(),
        target: "≥ 3500".to_owned(),
        measured: format!("{rate:.0}"),
        floor: format!("{:.0}", SMALL.calls() / floor),
        pass: rate >= 3500.0,
    }])
}

pub fn wall(bench: &Bench) -> Result<Vec<Row>, Error> {
    let work = Work { cases: 1000, latency_ms: 50, workers: 32 };
    let (wall, floor) = medians(&bench.pairs(work)?, |measured| measured.wall);
    let ideal = work.ideal();
    Ok(vec![Row {
        name: "P3",
        what: format!("wall at 50 ms, 1000 × 2, 32 workers (ideal {ideal:.2} s)"),
        target: "≤ 1.15 × ideal, ≤ 1.05 × floor".to_owned(),
        measured: format!("{wall:.2} s = {:.2} × ideal, {:.2} × floor", wall / ideal, wall / floor),
        floor: format!("{floor:.2} s = {:.2} × ideal", floor / ideal),
        pass: wall <= 1.15 * ideal && wall <= 1.05 * floor,
    }])
}

pub fn many_workers(bench: &Bench) -> Result<Vec<Row>, Error> {
    let work = Work { cases: 5000, latency_ms: 50, workers: 256 };
    let (wall, floor) = medians(&bench.pairs(work)?, |measured| measured.wall);
    let ideal = work.ideal();
    Ok(vec![Row {
        name: "P4",
        what: format!("wall at 50 ms, 5000 × 2, 256 workers (ideal {ideal:.2} s)"),
        target: "≤ 1.25 × floor".to_owned(),
        measured: format!("{wall:.2} s = {:.2} × ideal, {:.2} × floor", wall / ideal, wall / floor),
        floor: format!("{floor:.2} s = {:.2} × ideal", floor / ideal),
        pass: wall <= 1.25 * floor,
    }])
}
