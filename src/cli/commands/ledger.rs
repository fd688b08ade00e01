//! `scoregate ledger stats|prune`

use std::fmt::Write as _;
use std::path::Path;

use comfy_table::{CellAlignment, ContentArrangement, Table, presets};
use serde_json::{Value, json};

use crate::cli::args::{LedgerArgs, LedgerCommand, PruneArgs, StatsFormat};
use crate::cli::ending::Ending;
use crate::cli::failure::Failed;
use crate::cli::ledger::moment;
use crate::cli::screen;
use crate::report::escape::terminal;
use crate::store::{Account, EndpointAccount, PruneSettings, Pruned, Unfinished, account, prune};
use crate::text::number::{self, NONE, counted};
use crate::text::size;

/// Version of the JSON.
const SCHEMA: u32 = 1;
/// Characters of a name or a path.
const NAME: usize = 200;
/// Characters of an endpoint in the table.
const ENDPOINT: usize = 60;

pub(in crate::cli) fn execute(args: &LedgerArgs) -> Result<Ending, Failed> {
    match &args.command {
        LedgerCommand::Stats { file, format } => {
            let account = account(file)?;
            match format {
                StatsFormat::Human => screen::out(&shown(&account)),
                StatsFormat::Json => screen::data(&line(&stats_json(&account))),
            }
        }
        LedgerCommand::Prune(PruneArgs { file, older_than, keep_size, dry_run, format }) => {
            let settings = PruneSettings { older_than: *older_than, keep_size: *keep_size, dry_run: *dry_run };
            let pruned = prune(file, &settings)?;
            match format {
                StatsFormat::Human => screen::out(&said(file, *dry_run, &pruned)),
                StatsFormat::Json => screen::data(&line(&pruned_json(file, *dry_run, &pruned))),
            }
        }
    }
    Ok(Ending::printed())
}

fn line(value: &Value) -> String {
    format!("{value:#}\n")
}

fn shown(account: &Account) -> String {
    let all = together(&account.endpoints);
    let mut text = format!("ledger      {}\n", terminal(&account.path.display().to_string(), NAME));
    let (content, file) = (size::show(all.bytes), size::show(account.bytes));
    let _ = writeln!(text, "answers     {}, {content} in a file of {file}", number::count(all.answers));
    let _ = writeln!(text, "made        {} to {}", moment(all.oldest_us), moment(all.newest_us));
    let saved = match all.saved_cost {
        Some(cost) => format!(", {}", number::money(cost)),
        None => String::new(),
    };
    let tokens = counted(all.saved_tokens, "token", "tokens");
    let _ = writeln!(text, "used again  {}, which saved {tokens}{saved}", counted(all.hits, "time", "times"));
    for Unfinished { suite, mode, begun_us, seen_us } in &account.unfinished {
        let (suite, mode) = (terminal(suite, NAME), terminal(mode, NAME));
        let (begun, seen) = (moment(Some(*begun_us)), moment(Some(*seen_us)));
        let _ = writeln!(text, "unfinished  {suite} ({mode}), begun {begun}, last answer {seen}");
    }
    if !account.endpoints.is_empty() {
        let _ = write!(text, "\n{}", table(&account.endpoints));
    }
    text
}

fn table(endpoints: &[EndpointAccount]) -> String {
    let mut table = Table::new();
    table.load_style(presets::NOTHING).set_content_arrangement(ContentArrangement::Disabled);
    table.set_header(["endpoint", "answers", "size", "tokens", "cost", "used again", "saved", "newest", "last used"]);
    for endpoint in endpoints {
        let money = |cost: Option<f64>| cost.map_or_else(|| NONE.to_owned(), number::money);
        table.add_row([
            name(&endpoint.endpoint),
            number::count(endpoint.answers),
            size::show(endpoint.bytes),
            number::count(endpoint.tokens),
            money(endpoint.cost),
            number::count(endpoint.hits),
            money(endpoint.saved_cost),
            moment(endpoint.newest_us),
            moment(endpoint.used_us),
        ]);
    }
    for at in 1..7 {
        if let Some(column) = table.column_mut(at) {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
    table.lines().fold(String::new(), |text, line| text + line.trim_end() + "\n")
}

/// What version 1 kept has no endpoint.
fn name(endpoint: &str) -> String {
    if endpoint.is_empty() { "(not known)".to_owned() } else { terminal(endpoint, ENDPOINT) }
}

fn together(endpoints: &[EndpointAccount]) -> EndpointAccount {
    let mut all = EndpointAccount::default();
    let money = |sum: Option<f64>, more: Option<f64>| match (sum, more) {
        (Some(sum), Some(more)) => Some(sum + more),
        (sum, more) => sum.or(more),
    };
    for endpoint in endpoints {
        all.answers = all.answers.saturating_add(endpoint.answers);
        all.bytes = all.bytes.saturating_add(endpoint.bytes);
        all.oldest_us = [all.oldest_us, endpoint.oldest_us].into_iter().flatten().min();
        all.newest_us = all.newest_us.max(endpoint.newest_us);
        all.used_us = all.used_us.max(endpoint.used_us);
        all.hits = all.hits.saturating_add(endpoint.hits);
        all.tokens = all.tokens.saturating_add(endpoint.tokens);
        all.saved_tokens = all.saved_tokens.saturating_add(endpoint.saved_tokens);
        all.cost = money(all.cost, endpoint.cost);
        all.saved_cost = money(all.saved_cost, endpoint.saved_cost);
    }
    all
}

fn stats_json(account: &Account) -> Value {
    let row = |endpoint: &EndpointAccount| {
        json!({
            "answers": endpoint.answers, "bytes": endpoint.bytes, "oldest": stamp(endpoint.oldest_us),
            "newest": stamp(endpoint.newest_us), "last_used": stamp(endpoint.used_us), "tokens": endpoint.tokens,
            "cost_usd": endpoint.cost, "hits": endpoint.hits, "saved_tokens": endpoint.saved_tokens,
            "saved_cost_usd": endpoint.saved_cost,
        })
    };
    let named = |endpoint: &EndpointAccount| {
        let mut row = row(endpoint);
        row["endpoint"] = endpoint.endpoint.clone().into();
        row
    };
    let unfinished = |run: &Unfinished| json!({"suite": run.suite, "mode": run.mode, "begun": stamp(Some(run.begun_us)), "seen": stamp(Some(run.seen_us))});
    json!({
        "schema": SCHEMA, "path": account.path.display().to_string(), "version": account.version, "file_bytes": account.bytes,
        "total": row(&together(&account.endpoints)),
        "endpoints": account.endpoints.iter().map(named).collect::<Vec<_>>(),
        "unfinished": account.unfinished.iter().map(unfinished).collect::<Vec<_>>(),
    })
}

fn stamp(micros: Option<i64>) -> Option<String> {
    let stamp = jiff::Timestamp::from_microsecond(micros?).ok()?;
    Some(stamp.strftime("%Y-%m-%dT%H:%M:%SZ").to_string())
}

fn said(file: &Path, dry_run: bool, pruned: &Pruned) -> String {
    let Pruned { answers, left, needed, bytes_before, bytes_after, held } = pruned;
    let verb = if dry_run { "would remove" } else { "removed" };
    let about = if dry_run { "about " } else { "" };
    let mut text = format!(
        "{verb} {} from {}; {} left; {} → {about}{}\n",
        counted(*answers, "answer", "answers"),
        terminal(&file.display().to_string(), NAME),
        number::count(*left),
        size::show(*bytes_before),
        size::show(*bytes_after),
    );
    if *needed > 0 {
        let needed = counted(*needed, "answer", "answers");
        let _ = writeln!(text, "kept in any case: {needed} made since the beginning of a run that has not ended");
    }
    if *held {
        text.push_str("another process is using the file, so it shrinks when that one ends, or is filled again\n");
    }
    text
}

fn pruned_json(file: &Path, dry_run: bool, pruned: &Pruned) -> Value {
    let Pruned { answers, left, needed, bytes_before, bytes_after, held } = pruned;
    json!({
        "schema": SCHEMA, "path": file.display().to_string(), "dry_run": dry_run, "removed": answers, "left": left,
        "needed": needed, "bytes_before": bytes_before, "bytes_after": bytes_after, "held": held,
    })
}
