//! Our side: evaluators as a run builds and calls them.

use std::collections::BTreeMap;
use std::hint::black_box;
use std::path::Path;
use std::time::{Duration, Instant};

use scoregate::diagnostic::Diagnostics;
use scoregate::domain::{Answer, Case, Digest, Env, Measurement, Place};
use scoregate::evaluator::{BuildContext, Scorer, Subject, Way, kinds};
use scoregate::net::Deadlines;
use scoregate::suite::Block;

use crate::Error;
use crate::reference::{Measured, median};
use crate::rows::Row;
use crate::texts::Pair;

/// Least time of one pass, so that the clock's grain does not matter.
const PASS: Duration = Duration::from_millis(100);

/// # Errors
/// The evaluator cannot be built, or a pair has no score.
pub fn measure(row: &Row, repeat: usize, texts: &[Pair]) -> Result<Measured, Error> {
    let scorer = scorer(row)?;
    let cases: Vec<(Case, Answer)> = texts.iter().map(subject).collect();
    let mut scores = Vec::new();
    for (case, answer) in &cases {
        match scorer.score(Subject { case, answer, trial: 0 }) {
            Measurement::Value(reading) => scores.push(reading.value()),
            other => return Err(format!("`{}` did not score: {other:?}", row.name).into()),
        }
    }
    let mut passes = Vec::new();
    for _ in 0..repeat {
        let begun = Instant::now();
        let mut rounds = 0_u32;
        while begun.elapsed() < PASS {
            for (case, answer) in &cases {
                black_box(scorer.score(black_box(Subject { case, answer, trial: 0 })));
            }
            rounds += 1;
        }
        passes.push(begun.elapsed().as_secs_f64() / f64::from(rounds) / cases.len() as f64);
    }
    Ok(Measured { seconds: median(passes), scores })
}

const SUITE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/fixtures/quickstart/scoregate.yaml");

fn scorer(row: &Row) -> Result<Box<dyn Scorer>, Error> {
    let kind = kinds().find(|kind| kind.info.name == row.evaluator).ok_or("no such evaluator")?;
    let block = Block::from_value(row.name, row.evaluator, (row.settings)());
    let deadlines = Deadlines { connect: Duration::from_secs(1), whole: Duration::from_secs(1) };
    let (env, models, embedders) = (Env::default(), BTreeMap::new(), BTreeMap::new());
    // Text metrics ask nothing of it; any will do.
    let suite = scoregate::suite::load_with_problems(Path::new(SUITE), &env).suite.ok_or("no suite")?;
    let context = BuildContext {
        env: &env,
        suite: &suite,
        models: &models,
        embedders: &embedders,
        deadlines,
        batch_size: 1,
        version: None,
    };
    let mut diagnostics = Diagnostics::default();
    match kind.build(&block, &context, &mut diagnostics).map(|ready| ready.way) {
        Some(Way::Pure(scorer)) => Ok(scorer),
        Some(Way::Asking(_) | Way::Composite(_)) => Err("not a text metric".into()),
        None => Err(format!("`{}` cannot be built: {:?}", row.name, diagnostics.iter().next()).into()),
    }
}

fn subject((answer, reference): &Pair) -> (Case, Answer) {
    let case = Case {
        id: "q".into(),
        index: 0,
        input: String::new(),
        reference: Some(reference.clone()),
        contexts: Vec::new(),
        expected_contexts: Vec::new(),
        tags: Vec::new(),
        cluster: None,
        metadata: serde_json::Map::new(),
        recorded: None,
        place: Place { file: "texts.jsonl".into(), line: 1 },
        content: Digest::of([reference]),
    };
    (case, Answer { text: answer.clone(), ..Answer::default() })
}
