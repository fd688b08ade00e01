//! R12: readers of what comes from outside hold what they promise whatever the bytes: known inputs, and damaged copies of them. The
//! readers are those of the fuzz targets.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::time::{Duration, Instant};

use super::{seed, sized, slack};
use crate::command::root;

#[path = "../../../fuzz/readers.rs"]
mod feed;

/// Words that mean something to one of the readers.
const WORDS: &[&str] = &[
    "VERDICT:",
    "YES",
    "NO",
    "PASS",
    "\"score\":",
    "\"pass\":true",
    "\"items\":[",
    "\"id\":\"a\"",
    "\"verdict\":",
    "<think>",
    "</think>",
    "```json\n",
    "{",
    "}",
    "[",
    "]",
    "\"",
    "\\",
    "\n",
    "\r\n",
    "\t",
    ",",
    ":",
    "NaN",
    "1e999",
    "-0",
    "null",
    "\u{feff}",
    "\u{200b}",
    "\u{0}",
    "\u{d7ff}",
    "&a ",
    "*a",
    "<<: ",
    "- ",
    "? ",
    "| ",
    "${NAME}",
    "${",
    "{{ input }}",
    "{{",
    "}}",
    "error",
    "code",
    "429",
    "choices",
    "candidates",
    "output",
    "retry-after: ",
    "x-ratelimit-reset-tokens: 6m0s",
    "Mon, 01 Dec 2026 00:00:00 GMT",
    "version: 1",
    "models:",
    "provider: gemini",
    "input",
    "answer",
];

fn inputs() -> Vec<Vec<u8>> {
    let mut found: Vec<(PathBuf, Vec<u8>)> = Vec::new();
    let folders = ["judge-replies", "http", "datasets", "yaml", "baselines", "verdicts", "logs", "junit"];
    let folders = folders.iter().map(|name| root().join("fixtures/cases").join(name));
    for folder in folders.chain(["providers", "store", "quickstart"].map(|name| root().join("fixtures").join(name))) {
        for path in std::fs::read_dir(&folder).expect("a folder").flatten().map(|entry| entry.path()) {
            if path.is_file() {
                let mut bytes = std::fs::read(&path).expect("a file");
                // Damage is as good in a short text, and found sooner.
                bytes.truncate(8 * 1024);
                found.push((path, bytes));
            }
        }
    }
    found.sort();
    let mut inputs: Vec<Vec<u8>> = found.into_iter().map(|(_, bytes)| bytes).collect();
    inputs.push(Vec::new());
    inputs
}

/// One place in `bytes`, up to its end.
fn place(bytes: &[u8], random: &mut fastrand::Rng) -> usize {
    random.usize(..=bytes.len())
}

/// A copy with up to six kinds of damage.
fn damaged(inputs: &[Vec<u8>], random: &mut fastrand::Rng) -> Vec<u8> {
    let mut bytes = inputs[random.usize(..inputs.len())].clone();
    for _ in 0..random.usize(..6) {
        let (one, other) = (place(&bytes, random), place(&bytes, random));
        let (from, to) = (one.min(other), one.max(other).min(one.min(other) + 64));
        match random.u8(..7) {
            0 => bytes.truncate(from),
            1 => drop(bytes.drain(from..to)),
            2 => {
                let copy = bytes[from..to].to_vec();
                bytes.splice(to..to, copy);
            }
            3 if !bytes.is_empty() => {
                let at = random.usize(..bytes.len());
                bytes[at] ^= 1 << random.u8(..8);
            }
            4 => {
                let more = &inputs[random.usize(..inputs.len())];
                let part = place(more, random);
                bytes.splice(from..from, more[part..].iter().copied().take(256));
            }
            5 => {
                let byte = random.u8(..);
                bytes.insert(from, byte);
            }
            _ => {
                let word = WORDS[random.usize(..WORDS.len())];
                bytes.splice(from..from, word.bytes());
            }
        }
    }
    bytes
}

#[test]
fn readers_hold_whatever_the_bytes() {
    let rounds = sized(250, 200_000);
    let inputs = inputs();
    assert!(inputs.len() > 100, "{} inputs", inputs.len());
    let mut random = fastrand::Rng::with_seed(seed("readers"));
    let mut slowest = Duration::ZERO;
    for (name, reader) in feed::READERS {
        for round in 0..rounds + inputs.len() {
            let bytes = inputs.get(round).cloned().unwrap_or_else(|| damaged(&inputs, &mut random));
            let begun = Instant::now();
            if catch_unwind(AssertUnwindSafe(|| reader(&bytes))).is_err() {
                panic!("{name} fell over input {round}: {:?}", String::from_utf8_lossy(&bytes));
            }
            slowest = slowest.max(begun.elapsed());
        }
    }
    assert!(slowest <= slack(Duration::from_secs(1)), "one input took {slowest:?}");
    println!("R12: {} readers, {rounds} damaged inputs each, the slowest in {slowest:?}", feed::READERS.len());
}

/// Every reader has its fuzz target, and every target its reader.
#[test]
fn every_reader_is_a_fuzz_target() {
    let manifest = std::fs::read_to_string(root().join("fuzz/Cargo.toml")).expect("the manifest");
    for (name, _) in feed::READERS {
        let target = std::fs::read_to_string(root().join(format!("fuzz/fuzz_targets/{name}.rs"))).expect("a target");
        assert!(target.contains(&format!("readers::{name}(bytes)")), "{target}");
        assert!(manifest.contains(&format!("name = \"{name}\"\npath = \"fuzz_targets/{name}.rs\"")), "{name}");
    }
    let targets = std::fs::read_dir(root().join("fuzz/fuzz_targets")).expect("the targets").count();
    assert_eq!((targets, manifest.matches("[[bin]]").count()), (feed::READERS.len(), feed::READERS.len()));
}
