//! `scoregate check [SUITE]`

use serde_json::{Value, json};

use crate::cli::args::{BaseArgs, CheckArgs, StatsFormat, SuiteInput};
use crate::cli::base::{self, Subject, Yardstick};
use crate::cli::cost::Cost;
use crate::cli::ending::Ending;
use crate::cli::failure::Failed;
use crate::cli::measure::{asks, budget};
use crate::cli::prepare::{Prepared, prepare};
use crate::cli::{ledger, reference, reports, screen};
use crate::domain::{BaseRecord, Env, JudgedBy, Redactor};
use crate::engine::{Plan, Unaskable, preview};
use crate::evaluator::Way;
use crate::gate::BaselineState;
use crate::report::escape::terminal;
use crate::store::Peek;
use crate::text::number::counted;

/// Version of the JSON.
const SCHEMA: u32 = 1;
/// Characters of the suite's name.
const NAME: usize = 200;
/// Characters of why a case cannot be asked.
const REASON: usize = 400;

pub(in crate::cli) fn execute(args: &CheckArgs, env: &Env) -> Result<Ending, Failed> {
    let CheckArgs { input: SuiteInput { suite }, select, base, fetch, format } = args;
    let prepared = prepare(suite, select, env)?;
    let plan = &prepared.plan;
    let yardstick = judged_by(&prepared, base, env).map_err(|failed| failed.masked(&plan.redactor))?;
    let baseline = match fetch {
        true => {
            reference::of_suite(&prepared.suite, &yardstick, env).map_err(|failed| failed.masked(&plan.redactor))?
        }
        false => reference::foreseen(&prepared.suite, &prepared.policy),
    };
    let folder = reports::folder(None, &prepared.reports);
    let mut told = reference::foretell(&prepared.suite, &yardstick.policy, &baseline, &folder);
    if !told.is_empty() {
        told.map_texts(|text| plan.redactor.redact(text));
        screen::diagnostics(&told);
    }
    let cost = foresee(&prepared).map_err(|failed| failed.masked(&plan.redactor))?;
    if let Some(trouble) = cost.as_ref().and_then(|cost| cost.preview.trouble.as_ref()) {
        let trouble = plan.redactor.redact(&trouble.to_string());
        screen::message(&format!("warning: what is kept could not be looked up, and counts as not kept: {trouble}"));
    }
    if let Some(Unaskable { answers, case, why }) = cost.as_ref().and_then(|cost| cost.preview.unaskable.as_ref()) {
        let first = plan.redactor.redact(&format!("case `{case}`: {why}"));
        let many = counted(*answers, "answer", "answers");
        screen::message(&format!(
            "warning: {many} cannot be asked for as the suite stands; {}",
            terminal(&first, REASON)
        ));
    }
    let record = yardstick.record.as_ref();
    for words in record.map(changed).unwrap_or_default() {
        screen::message(&terminal(&plan.redactor.redact(&words), REASON));
    }
    match format {
        StatsFormat::Human => {
            screen::out(&shown(&prepared));
            if let (true, BaselineState::Found(found)) = (*fetch, &baseline) {
                let runs = counted(found.runs.len() as u64, "run", "runs");
                screen::out(&format!("baseline: {runs} of {}\n", terminal(&found.source.place, REASON)));
            }
            if let Some(cost) = &cost {
                screen::out(&cost.shown(&plan.redactor));
            }
        }
        StatsFormat::Json => {
            let mut object = object(&prepared, cost.as_ref());
            if let (Some(record), Some(object)) = (record, object.as_object_mut()) {
                object.insert("base".to_owned(), masked(&json!(record), &plan.redactor));
            }
            if let (true, Some(object)) = (*fetch, object.as_object_mut()) {
                object.insert("baseline".to_owned(), masked(&of_baseline(&baseline), &plan.redactor));
            }
            screen::data(&format!("{object:#}\n"));
        }
    }
    Ok(Ending::printed())
}

/// What a run of this change would be judged by.
fn judged_by(prepared: &Prepared, base: &BaseArgs, env: &Env) -> Result<Yardstick, Failed> {
    let Prepared { suite, dataset, plan, policy, .. } = prepared;
    let cases = match plan.header.selection {
        Some(_) => None,
        None => Some(base::cases_in(dataset)?),
    };
    let subject = Subject { suite, policy: policy.clone(), metrics: Some(&plan.header.metrics), cases };
    Yardstick::find(subject, (base, &[]), env)
}

/// How the change's own policy differs from the one that decides, the loosening differences first.
fn changed(record: &BaseRecord) -> Vec<String> {
    let mut words: Vec<String> =
        record.problem.iter().map(|why| format!("warning: a run would end with exit code 3: {why}")).collect();
    let what = match record.by {
        JudgedBy::Accepted => "loosened, which the workflow accepts",
        _ => "loosened, which fails the build",
    };
    words.extend(record.loosened().map(|change| format!("warning: {what}: {}", change.words())));
    let others = record.changes.iter().filter(|change| !change.loosens);
    words.extend(others.map(|change| format!("note: changed, and decides after the merge: {}", change.words())));
    words
}

fn of_baseline(state: &BaselineState) -> Value {
    match state {
        BaselineState::NotAsked => json!({ "state": "not_asked" }),
        BaselineState::Absent(place) => json!({ "state": "absent", "place": place }),
        BaselineState::Unreachable(why) => json!({ "state": "unreachable", "problem": why }),
        BaselineState::Broken(why) => json!({ "state": "unusable", "problem": why }),
        BaselineState::Found(found) => json!({
            "state": "found", "place": found.source.place, "digest": found.source.digest, "runs": found.runs.len(),
        }),
    }
}

/// Every text of it without secrets.
fn masked(value: &Value, redactor: &Redactor) -> Value {
    match value {
        Value::String(text) => Value::String(redactor.redact(text)),
        Value::Array(items) => items.iter().map(|item| masked(item, redactor)).collect(),
        Value::Object(map) => map.iter().map(|(key, item)| (key.clone(), masked(item, redactor))).collect(),
        Value::Null | Value::Bool(_) | Value::Number(_) => value.clone(),
    }
}

/// What a run would take; `None` where it calls nobody.
fn foresee(prepared: &Prepared) -> Result<Option<Cost>, Failed> {
    let Prepared { suite, dataset, plan, .. } = prepared;
    if plan.targets.iter().all(|target| target.free) && !plan.evaluators.iter().any(asks) {
        return Ok(None);
    }
    let peek = Peek::open(&suite.run.ledger, ledger::mode(suite, None), suite.run.ledger_ttl)?;
    let looked_at = peek.is_some();
    let runtime = tokio::runtime::Builder::new_current_thread().build();
    let runtime = runtime.map_err(|error| Failed::CouldNot(format!("could not start: {error}")))?;
    let shards = plan.header.shard.map_or(1, |part| part.shard.total() as usize);
    let preview = runtime.block_on(preview(plan, dataset.cases(), peek, shards))?;
    Ok(Some(Cost { preview, budget: budget(suite.run.budget, plan.header.shard), looked_at }))
}

fn shown(prepared: &Prepared) -> String {
    let Prepared { suite, plan, .. } = prepared;
    let metrics = plan.evaluators.len() as u64;
    let mut text = format!(
        "{}: {}, {}, {}, {} a case: {}, {}\n",
        terminal(&plan.redactor.redact(&suite.name), NAME),
        counted(plan.header.cases, "case", "cases"),
        counted(plan.targets.len() as u64, "target", "targets"),
        counted(metrics, "metric", "metrics"),
        counted(u64::from(plan.limits.trials), "trial", "trials"),
        counted(plan.header.outcomes(), "answer", "answers"),
        counted(plan.header.outcomes().saturating_mul(metrics), "score", "scores"),
    );
    let header = &plan.header;
    if let Some(selection) = &header.selection {
        let cases = header.shard.map_or(header.cases, |part| part.of);
        let by = plan.redactor.redact(&selection.by.join(" "));
        text.push_str(&format!("{} ({})\n", selection.words(cases), terminal(&by, NAME)));
    }
    if let Some(part) = header.shard {
        let of = counted(part.of, "case", "cases");
        let workers = plan.limits.workers;
        let at_once =
            workers.map_or_else(String::new, |workers| format!(", {workers} calls at once for each endpoint"));
        text.push_str(&format!("shard {}: {} of {of}{at_once}\n", part.shard, header.cases));
    }
    packs(plan, &mut text);
    text
}

fn object(prepared: &Prepared, cost: Option<&Cost>) -> Value {
    let Prepared { suite, plan, .. } = prepared;
    let header = &plan.header;
    let names = |names: Vec<&str>| -> Vec<String> { names.iter().map(|name| plan.redactor.redact(name)).collect() };
    let metrics = plan.evaluators.len() as u64;
    json!({
        "schema": SCHEMA,
        "suite": plan.redactor.redact(&suite.name),
        "cases": header.cases,
        "targets": names(plan.targets.iter().map(|target| &*target.name).collect()),
        "metrics": names(plan.evaluators.iter().map(|evaluator| &*evaluator.spec.name).collect()),
        "trials": plan.limits.trials,
        "answers": header.outcomes(),
        "scores": header.outcomes().saturating_mul(metrics),
        "shard": header.shard,
        "cost": cost.map(|cost| cost.object(&plan.redactor)),
    })
}

/// What `run.batch_size` saves, as far as that is known before anybody answers.
fn packs(plan: &Plan, text: &mut String) {
    let sides = (plan.targets.len() as u64).saturating_mul(u64::from(plan.limits.trials));
    for evaluator in &plan.evaluators {
        let Way::Asking(asking) = &evaluator.way else { continue };
        let Some(packing) = asking.packing() else { continue };
        let alone = plan.header.outcomes();
        let packed = packing.requests(plan.header.cases).saturating_mul(sides);
        let name = plan.redactor.redact(&evaluator.spec.name);
        if packing.alone == 0 {
            // Texts that are embedded together: nothing is said twice when they are apart.
            text.push_str(&format!(
                "{}: {} cases in a request: {} instead of {alone}\n",
                terminal(&name, NAME),
                packing.size,
                counted(packed, "embedding call", "embedding calls"),
            ));
            continue;
        }
        text.push_str(&format!(
            "{}: {} questions in a request: {} instead of {alone}, about {} less; what a pack leaves in doubt is asked \
             again alone\n",
            terminal(&name, NAME),
            packing.size,
            counted(packed, "judge call", "judge calls"),
            counted(packing.saved_tokens(alone, packed), "prompt token", "prompt tokens"),
        ));
    }
}
