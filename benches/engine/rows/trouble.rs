//! P10 to P13: faults, errors, a spent quota, a kill.

use std::collections::HashMap;
use std::path::Path;

use serde_json::Value;

use crate::Error;
use crate::bench::Bench;
use crate::measured::median;
use crate::place::Place;
use crate::provider::{Fault, Settings};
use crate::table::Row;

const CASES: usize = 1000;
const CALLS: u64 = 2 * CASES as u64;
const WORKERS: usize = 32;
/// So many that those in flight at a kill are less than 1 % of them.
const KILLED_CASES: usize = 2000;
const KILLED_CALLS: u64 = 2 * KILLED_CASES as u64;

/// 8 % of the requests.
const FAULTS: [(Fault, f64); 7] = [
    (Fault::Broken, 0.02),
    (Fault::Unavailable, 0.01),
    (Fault::Drop, 0.01),
    (Fault::Reset, 0.01),
    (Fault::Cut, 0.01),
    (Fault::Truncated, 0.01),
    (Fault::Page, 0.01),
];

/// Values by case and metric; `None`: not measured.
type Scores = HashMap<(String, String), Option<f64>>;

fn scores(place: &Place) -> Result<Scores, Error> {
    let mut scores = Scores::new();
    for line in place.report("results.jsonl")?.lines() {
        let line: Value = serde_json::from_str(line)?;
        let case = text(&line, "case");
        for score in line.get("scores").and_then(Value::as_array).into_iter().flatten() {
            scores.insert((case.clone(), text(score, "metric")), score.get("value").and_then(Value::as_f64));
        }
    }
    Ok(scores)
}

fn text(value: &Value, key: &str) -> String {
    value.get(key).and_then(Value::as_str).unwrap_or_default().to_owned()
}

/// What the scores of a faulty provider lack or have wrong, against those of one that is well.
pub fn faults(bench: &Bench) -> Result<Vec<Row>, Error> {
    let well = Settings { latency_ms: 10.0, ..Settings::default() };
    let (_well, place) = bench.stage(CASES, WORKERS, &well)?;
    place.expect(&bench.scoregate(&place, 0)?, &[0])?;
    let truth = scores(&place)?;
    let (mut lost, mut wrong, mut ratios) = (0, 0, Vec::new());
    let mut told = String::new();
    for _ in 0..bench.repeat {
        let (provider, place) = bench.stage(CASES, WORKERS, &Settings { faults: FAULTS.to_vec(), ..well.clone() })?;
        bench.scoregate(&place, 0)?;
        let found = scores(&place)?;
        for (key, value) in &truth {
            match found.get(key).copied().flatten() {
                None => lost += 1,
                Some(score) if Some(score) != *value => wrong += 1,
                Some(_) => {}
            }
        }
        let seen = provider.stats()?;
        ratios.push(seen.requests.saturating_sub(CALLS) as f64 / seen.faults.max(1) as f64);
        told = format!("{} faults", seen.faults);
    }
    let ratio = median(ratios);
    Ok(vec![Row {
        name: "P10",
        what: format!("8 % faults ({told} a run): lost, wrong; retries"),
        target: "0, 0; ≤ 1.1 × faults".to_owned(),
        measured: format!("{lost}, {wrong}; {ratio:.2} × faults"),
        floor: String::new(),
        pass: lost == 0 && wrong == 0 && ratio <= 1.1,
    }])
}

/// A provider that never answers 5 % of the calls, and says YES to all others.
pub fn errors_are_no_failures(bench: &Bench) -> Result<Vec<Row>, Error> {
    let (provider, place) =
        bench.stage(CASES, WORKERS, &Settings { yes: 1.0, refused: 0.05, ..Settings::default() })?;
    let measured = bench.scoregate(&place, 0)?;
    let expected = scores(&place)?.values().filter(|value| value.is_none()).count();
    let junit = place.report("junit.xml")?;
    // The gate's own suite says that too little was measured; the cases are what this is about.
    let suites: Vec<&str> = junit.split("<testsuite ").skip(1).filter(|suite| !named_gate(suite)).collect();
    let count = |tag: &str| suites.iter().map(|suite| suite.matches(tag).count()).sum::<usize>();
    let (errors, failures) = (count("<error"), count("<failure"));
    let comment = place.report("comment.md")?;
    let told = comment.contains("could not") || comment.contains("not measured");
    let refused = provider.stats()?.status.get(&400).copied().unwrap_or(0);
    let right = refused > 0 && expected as u64 == refused;
    Ok(vec![Row {
        name: "P11",
        what: format!("{refused} calls refused for good: exit code; JUnit; comment"),
        target: "3; all errors, no failures; said".to_owned(),
        measured: format!(
            "{}; {errors} errors, {failures} failures; {}",
            measured.code.map_or_else(|| "killed".to_owned(), |code| code.to_string()),
            if told { "said" } else { "silent" }
        ),
        floor: String::new(),
        pass: right && measured.code == Some(3) && errors == expected && failures == 0 && told,
    }])
}

fn named_gate(suite: &str) -> bool {
    suite.split('>').next().is_some_and(|attributes| attributes.contains("name=\"gate\""))
}

pub fn spent_quota(bench: &Bench) -> Result<Vec<Row>, Error> {
    let settings = Settings { latency_ms: 50.0, quota: Some(200), ..Settings::default() };
    let (mut after, mut seconds) = (Vec::new(), Vec::new());
    for _ in 0..bench.repeat {
        let (provider, place) = bench.stage(CASES, WORKERS, &settings)?;
        place.expect(&bench.scoregate(&place, 0)?, &[3])?;
        let seen = provider.stats()?;
        after.push(seen.after_quota as f64);
        seconds.push(seen.since_quota.ok_or("the quota was not spent")?);
    }
    let (most, seconds) = (after.into_iter().fold(0.0, f64::max), median(seconds));
    Ok(vec![Row {
        name: "P12",
        what: "quota spent: requests after the first such reply; end".to_owned(),
        target: format!("≤ {WORKERS}; ≤ 2 s"),
        measured: format!("{most:.0} at most; {seconds:.2} s"),
        floor: String::new(),
        pass: most <= WORKERS as f64 && seconds <= 2.0,
    }])
}

/// Killed at moments spread over the run, and run again.
pub fn killed(bench: &Bench) -> Result<Vec<Row>, Error> {
    let settings = Settings { latency_ms: 20.0, ..Settings::default() };
    let (mut kept_again, mut paid_twice, mut kills) = (0, 0, 0);
    let whole = KILLED_CALLS as f64 * settings.latency_ms / WORKERS as f64;
    for round in 0..bench.repeat {
        let (provider, place) = bench.stage(KILLED_CASES, WORKERS, &settings)?;
        let share = (round + 1) as f64 / (bench.repeat + 1) as f64;
        if bench.scoregate(&place, (whole * share) as u64)?.code.is_some() {
            return Err("the run ended before it was killed".into());
        }
        kills += 1;
        let kept = kept(&place.folder)?;
        let before = provider.stats()?;
        place.expect(&bench.scoregate(&place, 0)?, &[0])?;
        let seen = provider.stats()?;
        kept_again += (seen.requests - before.requests).saturating_sub(KILLED_CALLS - kept);
        paid_twice = paid_twice.max(seen.duplicates);
    }
    let most = paid_twice as f64 / KILLED_CALLS as f64;
    Ok(vec![Row {
        name: "P13",
        what: format!("{kills} × kill -9 in {KILLED_CALLS} calls, and again: asked again of the journalled; of all"),
        target: format!("0; ≤ 1 %, ≤ {WORKERS}"),
        measured: format!("{kept_again}; {paid_twice} at most = {:.2} %", most * 100.0),
        floor: String::new(),
        pass: kept_again == 0 && most <= 0.01 && paid_twice <= WORKERS as u64,
    }])
}

/// Rows of the ledger that a killed run left; of a copy, so that looking mends nothing.
fn kept(folder: &Path) -> Result<u64, Error> {
    let copy = tempfile::tempdir()?;
    for file in std::fs::read_dir(folder.join(".scoregate"))? {
        let file = file?;
        if !file.file_name().to_string_lossy().ends_with("-shm") {
            std::fs::copy(file.path(), copy.path().join(file.file_name()))?;
        }
    }
    let ledger = rusqlite::Connection::open(copy.path().join("ledger.sqlite"))?;
    let rows: i64 = ledger.query_row("SELECT count(*) FROM call", [], |row| row.get(0))?;
    Ok(u64::try_from(rows)?)
}
