//! P5, P6 and P14: memory, the start, and a run in which there is nothing left to do.

use crate::Error;
use crate::bench::{Bench, Work, medians};
use crate::measured::{Measured, median};
use crate::provider::Settings;
use crate::table::Row;

pub fn memory(bench: &Bench) -> Result<Vec<Row>, Error> {
    [(1000, 32.0), (20_000, 64.0)]
        .into_iter()
        .map(|(cases, most)| {
            let pairs = bench.pairs(Work { cases, latency_ms: 0, workers: 32 })?;
            let (rss, floor) = medians(&pairs, |measured| measured.rss);
            Ok(Row {
                name: "P5",
                what: format!("peak memory at {cases} cases"),
                target: format!("≤ {most} MiB"),
                measured: format!("{rss:.1} MiB"),
                floor: format!("{floor:.1} MiB"),
                pass: rss <= most,
            })
        })
        .collect()
}

pub fn start(bench: &Bench) -> Result<Vec<Row>, Error> {
    let one = Work { cases: 1, latency_ms: 0, workers: 32 };
    let mut version = Vec::new();
    let mut run = Vec::new();
    for _ in 0..bench.repeat {
        let (provider, place) = bench.stage(one.cases, one.workers, &Settings::default())?;
        let measured = place.run(&bench.me, 0, &bench.binary, &["--version"])?;
        place.expect(&measured, &[0])?;
        version.push(measured);
        // Too few cases to decide; what it says about them is not what is measured.
        run.push(bench.scoregate(&place, 0)?);
        drop(provider);
    }
    let row = |what: &str, runs: &[Measured], most: f64| {
        let (cpu, wall) = (median(runs.iter().map(|run| run.cpu)), median(runs.iter().map(|run| run.wall)));
        Row {
            name: "P6",
            what: what.to_owned(),
            target: format!("≤ {most} ms CPU"),
            measured: format!("{:.1} ms CPU, {:.1} ms wall", cpu * 1e3, wall * 1e3),
            floor: String::new(),
            pass: cpu * 1e3 <= most,
        }
    };
    Ok(vec![row("cold start: --version", &version, 10.0), row("cold start: run of one case", &run, 40.0)])
}

/// A finished run, once more.
pub fn again(bench: &Bench) -> Result<Vec<Row>, Error> {
    let mut runs = Vec::new();
    let mut calls = 0;
    for _ in 0..bench.repeat {
        let (provider, place) = bench.stage(1000, 32, &Settings::default())?;
        let first = bench.scoregate(&place, 0)?;
        place.expect(&first, &[0])?;
        let before = provider.stats()?.requests;
        let second = bench.scoregate(&place, 0)?;
        place.expect(&second, &[0])?;
        calls += provider.stats()?.requests - before;
        runs.push(second);
    }
    let (cpu, wall) = (median(runs.iter().map(|run| run.cpu)), median(runs.iter().map(|run| run.wall)));
    Ok(vec![Row {
        name: "P14",
        what: "finished run of 1000 cases repeated".to_owned(),
        target: "0 calls, ≤ 100 ms".to_owned(),
        measured: format!("{calls} calls, {:.0} ms ({:.0} ms CPU)", wall * 1e3, cpu * 1e3),
        floor: String::new(),
        pass: calls == 0 && wall <= 0.1,
    }])
}
