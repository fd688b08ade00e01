//! What a run would take, in words and as JSON: calls, tokens, money, time, and whether the budget suffices.

use std::fmt::Write as _;
use std::time::Duration;

use serde_json::{Map, Value, json};

use crate::domain::Redactor;
use crate::engine::{Forecast, Preview, Span};
use crate::report::escape::terminal;
use crate::suite::Budget;
use crate::text::number::{count, counted, duration, money};

/// Characters of an endpoint's name.
const ENDPOINT: usize = 120;

/// The bound whose need is not known from above.
const TIME: &str = "time";

/// A preview, and what it is held against.
pub(super) struct Cost {
    pub(super) preview: Preview,
    pub(super) budget: Budget,
    /// Whether there is a ledger whose answers may be used.
    pub(super) looked_at: bool,
}

/// Whether a bound of the budget suffices.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Enough {
    Yes,
    /// For short replies.
    Maybe,
    No,
}

impl Enough {
    fn of(bound: f64, needed: Span<f64>) -> Self {
        // As the budget reads it: what is reserved may reach the bound.
        match bound + 1e-12 {
            bound if needed.most <= bound => Self::Yes,
            bound if needed.least <= bound => Self::Maybe,
            _ => Self::No,
        }
    }

    fn key(self) -> &'static str {
        match self {
            Self::Yes => "yes",
            Self::Maybe => "maybe",
            Self::No => "no",
        }
    }

    fn words(self, bound: &str) -> &'static str {
        match self {
            Self::Yes => "suffices",
            Self::Maybe if bound == TIME => "may suffice",
            Self::Maybe => "suffices only if replies are short",
            Self::No => "does not suffice: the run would end before all is measured",
        }
    }
}

/// A bound of `run.budget` and what the run needs of it.
struct Bound {
    name: &'static str,
    limit: f64,
    needed: Span<f64>,
    shown: fn(f64) -> String,
}

impl Cost {
    /// Lines for a person.
    pub(super) fn shown(&self, redactor: &Redactor) -> String {
        let total = self.preview.total();
        let all = total.calls.saturating_add(total.kept);
        let mut text = match self.looked_at {
            true => format!(
                "calls: {} of {} to make; the ledger answers {}\n",
                count(total.calls),
                count(all),
                count(total.kept)
            ),
            false => format!("calls: {} to make; no ledger answers any\n", count(total.calls)),
        };
        for (endpoint, forecast) in &self.preview.endpoints {
            let name = terminal(&redactor.redact(endpoint), ENDPOINT);
            let _ = writeln!(text, "  {name}: {}", line(forecast));
        }
        if total.to_models > 0 && self.preview.endpoints.len() > 1 {
            let _ = writeln!(text, "  together: {}", line(&total));
        }
        for bound in self.bounds(&total) {
            let Bound { name, limit, needed, shown } = bound;
            let stated = if name == TIME { shown(limit) } else { limit.to_string() };
            let enough = Enough::of(limit, needed).words(name);
            let needs = match needed {
                Span { least, .. } if name == TIME && least == 0.0 => "how long the run takes is not known".to_owned(),
                Span { least, .. } if name == TIME => format!("at least {} needed", shown(least)),
                needed => format!("{} needed", between(needed, shown)),
            };
            let _ = writeln!(text, "budget: `{name}: {stated}` {enough} ({needs})");
        }
        if let Some(time) = total.least_time {
            let _ = writeln!(text, "time: at least {}", duration(time));
        }
        if total.calls > 0 {
            text.push_str(
                "estimated without any call: retries are not in it; an answer that is not known yet is taken to be as long as the \
                 case's reference, else 400 characters\n",
            );
        }
        text
    }

    pub(super) fn object(&self, redactor: &Redactor) -> Value {
        let total = self.preview.total();
        let endpoints: Vec<Value> = self
            .preview
            .endpoints
            .iter()
            .map(|(endpoint, forecast)| {
                let mut object = Map::new();
                object.insert("endpoint".to_owned(), json!(redactor.redact(endpoint)));
                object.extend(fields(forecast));
                Value::Object(object)
            })
            .collect();
        let budget: Map<String, Value> = self
            .bounds(&total)
            .into_iter()
            .map(|Bound { name, limit, needed, .. }| {
                let enough = Enough::of(limit, needed).key();
                (name.to_owned(), json!({ "limit": limit, "needed": [needed.least, needed.most], "enough": enough }))
            })
            .collect();
        json!({
            "total": fields(&total), "endpoints": endpoints, "budget": budget, "ledger_used": self.looked_at,
            "unaskable": self.preview.unaskable.as_ref().map_or(0, |unaskable| unaskable.answers),
        })
    }

    /// The bounds that the suite sets, of what is counted before a run.
    fn bounds(&self, total: &Forecast) -> Vec<Bound> {
        let Budget { usd, tokens, requests, time } = self.budget;
        #[expect(clippy::cast_precision_loss, reason = "counts below 2^53")]
        let number = |count: u64| count as f64;
        let all_tokens = Span {
            least: number(total.prompt_tokens.saturating_add(total.reply_tokens.least)),
            most: number(total.prompt_tokens.saturating_add(total.reply_tokens.most)),
        };
        let exactly = |amount: f64| Span { least: amount, most: amount };
        let mut bounds = Vec::new();
        let mut add = |name, limit: Option<f64>, needed, shown| {
            bounds.extend(limit.map(|limit| Bound { name, limit, needed, shown }));
        };
        add("usd", usd, total.cost, money as fn(f64) -> String);
        add("tokens", tokens.map(number), all_tokens, |tokens| format!("{} tokens", count(tokens as u64)));
        add("requests", requests.map(number), exactly(number(total.calls)), |calls| {
            counted(calls as u64, "call", "calls")
        });
        // How long a run takes is not known; what it takes at least may be too long already.
        let least = total.least_time.map_or(0.0, |time| time.as_secs_f64());
        let most = f64::INFINITY;
        add(TIME, time.map(|time| time.as_secs_f64()), Span { least, most }, |seconds| {
            duration(Duration::try_from_secs_f64(seconds).unwrap_or(Duration::MAX))
        });
        bounds
    }
}

fn line(forecast: &Forecast) -> String {
    let mut parts = vec![counted(forecast.calls, "call", "calls")];
    if forecast.batched > 0 {
        parts.push(format!("{} of them by batch", count(forecast.batched)));
    }
    if forecast.to_models > 0 {
        parts.push(format!("about {} sent", counted(forecast.prompt_tokens, "token", "tokens")));
        let Span { least, most } = forecast.reply_tokens;
        parts.push(format!("{} to {} received", count(least), count(most)));
    }
    if forecast.to_models > forecast.unpriced {
        parts.push(between(forecast.cost, money));
    }
    if forecast.unpriced > 0 {
        parts.push(format!("no `price` for {}", counted(forecast.unpriced, "call", "calls")));
    }
    if forecast.kept > 0 {
        parts.push(format!("{} in the ledger", count(forecast.kept)));
    }
    if let Some(time) = forecast.least_time {
        parts.push(format!("at least {}", duration(time)));
    }
    parts.join(", ")
}

fn between(span: Span<f64>, shown: fn(f64) -> String) -> String {
    let (least, most) = (shown(span.least), shown(span.most));
    if least == most { least } else { format!("{least} to {most}") }
}

fn fields(forecast: &Forecast) -> Map<String, Value> {
    let priced = forecast.to_models > forecast.unpriced;
    let value = json!({
        "calls": forecast.calls,
        "kept": forecast.kept,
        "by_batch": forecast.batched,
        "prompt_tokens": forecast.prompt_tokens,
        "reply_tokens": [forecast.reply_tokens.least, forecast.reply_tokens.most],
        "cost_usd": priced.then_some([forecast.cost.least, forecast.cost.most]),
        "calls_without_price": forecast.unpriced,
        "least_seconds": forecast.least_time.map(|time| time.as_secs_f64()),
    });
    match value {
        Value::Object(fields) => fields,
        _ => Map::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_budget_suffices_for_all_for_some_or_for_no_replies() {
        let needed = Span { least: 1.0, most: 2.0 };
        let found: Vec<&str> = [2.0, 1.5, 1.0, 0.9].into_iter().map(|bound| Enough::of(bound, needed).key()).collect();
        assert_eq!(found, ["yes", "maybe", "maybe", "no"]);
    }
}
