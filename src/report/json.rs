//! `verdict.json`: the verdict for machines (design §5).

use serde_json::{Map, Value, json};

use super::View;
use crate::domain::{Comparison, Decision};

pub(super) fn render(view: &View<'_>) -> Result<String, String> {
    let verdict = view.verdict;
    let rules: Result<Vec<Value>, String> = verdict.rules.iter().map(rule).collect();
    let end = view.run.completion.as_ref();
    let document = json!({
        "schema": 1,
        "verdict": word(verdict.decision),
        "exit_code": verdict.exit_code,
        "headline": verdict.headline,
        "suite": verdict.suite,
        "partial": verdict.partial,
        "rules": rules?,
        "trials": verdict.trials,
        "cases": value(&verdict.cases)?,
        "comparable": verdict.comparable,
        "notes": verdict.notes,
        "changes": value(&verdict.changes)?,
        "broken": value(&verdict.broken)?,
        "fixed": value(&verdict.fixed)?,
        "alpha": verdict.alpha,
        "baseline": value(&verdict.baseline)?,
        "baseline_runs": value(&verdict.baseline_runs)?,
        "calls": value(&end.map(|end| end.calls))?,
        "usage": value(&end.map(|end| end.usage))?,
        "cost_usd": value(&end.and_then(|end| end.cost))?,
    });
    let mut text = serde_json::to_string_pretty(&document).map_err(|error| error.to_string())?;
    text.push('\n');
    Ok(view.redactor.redact(&text))
}

pub(super) fn word(decision: Decision) -> &'static str {
    match decision {
        Decision::Passed => "passed",
        Decision::Failed => "failed",
        Decision::Inconclusive => "inconclusive",
        Decision::NotEvaluated => "not_evaluated",
    }
}

fn value<T: serde::Serialize>(part: &T) -> Result<Value, String> {
    serde_json::to_value(part).map_err(|error| error.to_string())
}

fn rule(rule: &Comparison) -> Result<Value, String> {
    let value = value(rule)?;
    match value {
        Value::Object(map) => Ok(Value::Object(map.into_iter().collect::<Map<_, _>>())),
        other => Ok(other),
    }
}
