//! `scoregate judge repeat RESULTS`: the same answers, judged several times afresh.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fmt::Write as _;
use std::sync::Arc;

use serde_json::{Value, json};

use super::{NAME, SCHEMA};
use crate::cli::args::{LedgerChoice, RepeatArgs, SelectArgs, StatsFormat};
use crate::cli::ending::Ending;
use crate::cli::events::Events;
use crate::cli::exit_code::ExitCode;
use crate::cli::failure::Failed;
use crate::cli::levels::{self, Key};
use crate::cli::measure::{self, Means, Outcome, measure};
use crate::cli::prepare::{Prepared, prepare};
use crate::cli::{reports, screen};
use crate::dataset::{Dataset, Strata};
use crate::domain::{Answer, Case, CaseId, Cell, Context, Digest, Env, Failure, FailureKind, Run, TargetName};
use crate::gate::{Policy, unit};
use crate::net::{BoxFuture, Transport};
use crate::peer::Wanted;
use crate::report::escape::terminal;
use crate::stats::{JudgeNoise, judge_noise, judge_share};
use crate::store::{AnswerLine, ContextLine, Texts, read_results};
use crate::target::{Ready, Target};
use crate::text::number::counted;

pub(super) fn execute(args: &RepeatArgs, env: &Env) -> Result<Ending, Failed> {
    let stored = read_results(&args.results)?;
    let answers = Arc::new(Answers::of(&stored, &args.results)?);
    let Prepared { suite, mut dataset, mut plan, confirm: _, policy, reports: _ } =
        prepare(&args.suite, &SelectArgs::default(), env)?;
    plan.evaluators.retain(measure::asks);
    if plan.evaluators.is_empty() {
        let help = "every evaluator of the suite computes its score, and gives the same one each time";
        return Err(Failed::usage("no-judge", "the suite has no judge", help));
    }
    let changed = take(&mut dataset, &answers, args)?;
    if changed > 0 {
        let cases = counted(changed, "case", "cases");
        screen::message(&format!("{cases} changed since the results were written, and are left out"));
    }
    plan.header.metrics = plan.evaluators.iter().map(|ready| ready.spec.clone()).collect();
    plan.header.cases = dataset.len as u64;
    plan.header.trials = args.times;
    plan.limits.trials = args.times;
    plan.targets = answers.targets.iter().map(|name| stored_target(&answers, name)).collect();
    plan.header.targets = answers.targets.iter().cloned().collect();
    let before = earlier(args, &stored, &policy)?;
    let _alone = reports::hold(&args.out)?;
    let events = Events::default();
    let ledger = Some(LedgerChoice::Off);
    let (folder, events, more) = (&*args.out, &events, &|_: &Run| None);
    let suspects = &|_: &Run| BTreeSet::new();
    let means = Means { suite: &suite, dataset: &dataset, ledger, tape: None, folder, events, more, suspects, env };
    let redactor = plan.redactor.clone();
    let Outcome { run, again: _, caught, _held } =
        measure(plan, None, &means).map_err(|failed| failed.masked(&redactor))?;
    let noises = noises(&run, &before);
    match args.format {
        StatsFormat::Human => screen::out(&shown(&noises, args.times)),
        StatsFormat::Json => screen::data(&format!("{:#}\n", json(&noises, args.times))),
    }
    if let Some(code) = caught.code() {
        return Ok(Ending::because(code, "cancelled; what was judged is counted"));
    }
    if noises.iter().all(|one| one.noise.is_none()) {
        return Ok(Ending::because(ExitCode::NotEvaluated, "no answer was judged twice"));
    }
    Ok(Ending::printed())
}

/// The answers of a run's first trials.
struct Answers {
    targets: BTreeSet<TargetName>,
    by_case: HashMap<(CaseId, TargetName), (Option<Digest>, Answer)>,
}

impl Answers {
    fn of(run: &Run, path: &std::path::Path) -> Result<Self, Failed> {
        let texts = Texts::open(path)?;
        let mut found = Self { targets: BTreeSet::new(), by_case: HashMap::new() };
        for case in &run.cases {
            let answered = case.trials.iter().find(|trial| trial.answered.is_ok());
            let Some(line) = answered.map(|trial| texts.outcome(trial.offset)).transpose()? else { continue };
            let Some(answer) = line.answer.map(answer) else { continue };
            found.targets.insert(case.target.clone());
            found.by_case.insert((case.id.clone(), case.target.clone()), (case.content, answer));
        }
        if found.by_case.is_empty() {
            return Err(Failed::CouldNot(format!("{} holds no answer that could be judged again", path.display())));
        }
        Ok(found)
    }
}

fn answer(line: AnswerLine) -> Answer {
    let context = |context: ContextLine| match context {
        ContextLine::Text(text) => Context { id: None, text, score: None },
        ContextLine::Full { id, text, score } => Context { id, text, score },
    };
    Answer { text: line.text, contexts: line.contexts.into_iter().map(context).collect(), ..Answer::default() }
}

/// Leaves the sample of the cases that were answered; returns how many changed since then.
fn take(dataset: &mut Dataset, answers: &Answers, args: &RepeatArgs) -> Result<u64, Failed> {
    let known: HashMap<&str, Option<Digest>> =
        answers.by_case.iter().map(|((case, _), (content, _))| (&**case, *content)).collect();
    let mut changed = 0_u64;
    dataset.keep(&mut |case| match known.get(&*case.id) {
        Some(Some(content)) if *content != case.content => {
            changed += 1;
            false
        }
        Some(_) => true,
        None => false,
    })?;
    let mut strata = Strata::new(args.seed);
    for case in dataset.cases() {
        strata.offer(&case?);
    }
    let chosen = strata.choose(args.sample.get());
    dataset.keep(&mut |case| chosen.contains(&case.index))?;
    if dataset.len == 0 {
        return Err(Failed::CouldNot("no case of the suite was answered in these results".to_owned()));
    }
    Ok(changed)
}

fn stored_target(answers: &Arc<Answers>, name: &TargetName) -> Ready {
    let target = Box::new(Stored { answers: Arc::clone(answers), name: name.clone() });
    Ready { name: name.clone(), target, free: true, made_of: Digest::of([&**name]) }
}

/// The same answer, however often it is asked for.
struct Stored {
    answers: Arc<Answers>,
    name: TargetName,
}

impl Target for Stored {
    fn ask<'a>(
        &'a self,
        case: &'a Case,
        _trial: u32,
        _transport: &'a dyn Transport,
    ) -> BoxFuture<'a, Result<Answer, Failure>> {
        let found = self.answers.by_case.get(&(case.id.clone(), self.name.clone())).map(|(_, answer)| answer.clone());
        let none = || Failure::infra(FailureKind::Missing, "these results hold no answer of this target for the case");
        Box::pin(std::future::ready(found.ok_or_else(none)))
    }
}

/// Runs that show how much a case's score varies when it is answered anew.
fn earlier(args: &RepeatArgs, stored: &Run, policy: &Policy) -> Result<Vec<levels::StoredRun>, Failed> {
    match &args.baseline {
        Some(path) => levels::stored(path, policy, Wanted::default()),
        None if stored.header.trials > 1 => levels::stored(&args.results, policy, Wanted::default()),
        None => Ok(Vec::new()),
    }
}

/// What a judge's repetitions show.
struct Noise {
    label: String,
    noise: Option<JudgeNoise>,
    binary: bool,
    /// σ²_w of the trials, where it is known.
    within: Option<f64>,
}

impl Noise {
    fn share(&self) -> Option<f64> {
        judge_share(self.noise?.variance, self.within?)
    }
}

fn noises(run: &Run, before: &[levels::StoredRun]) -> Vec<Noise> {
    let mut found: BTreeMap<Key, Vec<Vec<f64>>> = BTreeMap::new();
    for case in &run.cases {
        for (at, spec) in run.header.metrics.iter().enumerate() {
            let value = |cell: Option<Cell>| match cell {
                Some(Cell::Value { value, .. }) => Some(unit(spec, value)),
                _ => None,
            };
            let scores = case.trials.iter().filter_map(|trial| value(trial.cells.get(at).copied().flatten())).collect();
            found.entry((spec.name.clone(), case.target.clone())).or_default().push(scores);
        }
    }
    let keys: Vec<Key> = found.keys().cloned().collect();
    let binary =
        |metric: &str| run.header.metrics.iter().any(|spec| *spec.name == *metric && spec.kind.steps() == Some(1));
    let one = |(key, repeats): (Key, Vec<Vec<f64>>)| Noise {
        label: levels::label(&key, &keys),
        noise: judge_noise(&repeats),
        binary: binary(&key.0),
        within: levels::within(before, &key),
    };
    found.into_iter().map(one).collect()
}

fn shown(noises: &[Noise], times: u32) -> String {
    let mut text = String::new();
    for one in noises {
        let label = terminal(&one.label, NAME);
        let Some(noise) = one.noise else {
            let _ = writeln!(text, "{label}: no answer was judged twice");
            continue;
        };
        let outputs = counted(noise.outputs as u64, "answer", "answers");
        let _ = writeln!(text, "{label}: {outputs}, judged {times} times each");
        let error = noise.standard_error.map_or_else(String::new, |error| format!(", give or take {error:.4}"));
        let _ = writeln!(text, "  variance of the judge  {:.4}{error} (0 to 1 scale)", noise.variance);
        if one.binary {
            let _ = writeln!(
                text,
                "  flip rate              {:.1}%: two judgings of one answer disagree that often",
                noise.flip_rate * 100.0
            );
        }
        match one.share() {
            Some(share) => {
                let _ = writeln!(text, "  share of all luck      {:.0}%: {}", share * 100.0, advice(share));
            }
            None => {
                let _ = writeln!(
                    text,
                    "  share of all luck      not known: `--baseline` with several trials or runs tells how answers vary"
                );
            }
        }
    }
    text
}

/// What to do about it (statistics §18.2).
fn advice(share: f64) -> &'static str {
    if share > 0.5 {
        "judge each answer several times and take the mean: that is cheaper than answering again"
    } else if share < 0.25 {
        "the answers vary, not the judge: judging again is wasted, more trials help"
    } else {
        "judge and answers vary alike: more trials help against both"
    }
}

fn json(noises: &[Noise], times: u32) -> Value {
    let one = |one: &Noise| {
        let noise = one.noise;
        json!({
            "metric": one.label, "outputs": noise.map_or(0, |noise| noise.outputs), "variance": noise.map(|noise| noise.variance),
            "se": noise.and_then(|noise| noise.standard_error),
            "flip_rate": noise.filter(|_| one.binary).map(|noise| noise.flip_rate),
            "within_variance": one.within, "share": one.share(), "advice": one.share().map(advice),
        })
    };
    json!({"schema": SCHEMA, "times": times, "judges": noises.iter().map(one).collect::<Vec<Value>>()})
}
