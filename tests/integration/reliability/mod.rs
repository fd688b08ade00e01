//! The promises of `docs/reliability.md`, kept under faults, kills, signals and load: each as a small run in every `cargo test`, and at
//! full size with `SCOREGATE_TEST_SIZE=full`. What is random comes from a seed that is printed; `SCOREGATE_TEST_SEED` repeats it.
#![expect(clippy::print_stdout, reason = "figures and seeds, shown with `--nocapture` and where a test fails")]

mod accounting;
mod accounts;
mod cancelling;
mod crash;
mod deadlines;
mod faults;
mod limits;
mod memory;
mod readers;
mod replies;
mod stored;

use std::time::{Duration, Instant};

/// Whether the promises are to be tried at full size.
fn full() -> bool {
    match std::env::var("SCOREGATE_TEST_SIZE").as_deref() {
        Ok("full") => true,
        Err(_) | Ok("" | "small") => false,
        Ok(other) => panic!("SCOREGATE_TEST_SIZE is `{other}`: write `full` or `small`"),
    }
}

fn sized<T>(small: T, at_full_size: T) -> T {
    if full() { at_full_size } else { small }
}

/// The seed of the test `name`: always the same at the small size, a new one at full size, the one that was asked for in either.
fn seed(name: &str) -> u64 {
    let asked = std::env::var("SCOREGATE_TEST_SEED").ok();
    let seed = match asked {
        Some(text) => text.parse().unwrap_or_else(|_| panic!("SCOREGATE_TEST_SEED is `{text}`, not a whole number")),
        None if full() => u64::from(fastrand::u32(..)),
        None => 1,
    };
    println!("{name}: to repeat it, SCOREGATE_TEST_SEED={seed}{}", sized("", " SCOREGATE_TEST_SIZE=full"));
    seed
}

/// A number that depends on all of `parts` and nothing else.
fn mixed(parts: &[u64]) -> u64 {
    parts.iter().fold(0x9e37_79b9_7f4a_7c15, |state, part| {
        let mut random = fastrand::Rng::with_seed(state ^ part.wrapping_mul(0xd134_2543_de82_ef95));
        random.u64(..)
    })
}

/// How much longer than promised something may take where the machine may be busy with everything else.
fn slack(promised: Duration) -> Duration {
    sized(promised * 10, promised)
}

/// Waits for something that must come.
fn until(what: &str, happened: impl Fn() -> bool) {
    let begun = Instant::now();
    while !happened() {
        assert!(begun.elapsed() < Duration::from_secs(60), "{what} did not come");
        std::thread::sleep(Duration::from_millis(1));
    }
}

/// The number of a case in a text that holds `question q12?`.
fn case_of(text: &str) -> usize {
    let (_, rest) = text.split_once("question q").expect("a question");
    rest.split_once('?').expect("its end").0.parse().expect("its number")
}

fn rows(cases: std::ops::Range<usize>) -> String {
    cases.map(|at| format!("{{\"id\":\"q{at}\",\"input\":\"question q{at}?\"}}\n")).collect()
}

/// The part of a whole, in per cent.
fn share(part: usize, whole: usize) -> f64 {
    100.0 * part as f64 / whole.max(1) as f64
}
