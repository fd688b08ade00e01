//! The table: one line a rule, what does most to the build first.

use comfy_table::{CellAlignment, ContentArrangement, Table, presets};
use unicode_width::UnicodeWidthStr as _;

use super::wrap::narrow;
use super::{DIM, Screen, colour};
use crate::report::clean::Clean;
use crate::report::view::{Row, View};
use crate::text::number::NONE;

/// Lines of the table; the reports have all.
const ROWS: usize = 40;

/// What a column shows. Columns are left out from the end of this list where the screen is too narrow.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Column {
    Metric,
    Values,
    Change,
    Finding,
    Interval,
    P,
    Rule,
    Cases,
}

const ORDER: [Column; 8] = [
    Column::Metric,
    Column::Rule,
    Column::Values,
    Column::Change,
    Column::Interval,
    Column::P,
    Column::Cases,
    Column::Finding,
];
const LEFT_OUT: [Column; 4] = [Column::Cases, Column::P, Column::Rule, Column::Interval];

pub(super) fn table(view: &View<'_>, screen: Screen) -> String {
    let rows: Vec<&Row> = view.rows.iter().take(ROWS).collect();
    let mut text = String::new();
    if !rows.is_empty() {
        let lines = fitting(&rows, screen.width);
        for (at, line) in lines.iter().enumerate() {
            let row = at.checked_sub(1).and_then(|at| rows.get(at));
            text.push_str(&styled(line, row.copied(), screen));
            text.push('\n');
        }
        if view.rows.len() > ROWS {
            text.push_str(&format!("  … {} more in the reports\n", view.rows.len() - ROWS));
        }
        if rows.iter().any(|row| row.change != NONE) {
            let legend = "change and its interval in points: hundredths of the metric's scale, negative is worse";
            text.push_str(&format!(
                "  {}\n",
                screen.style(DIM, &narrow(&Clean::ours(legend), screen.width.saturating_sub(2)))
            ));
        }
    }
    if !view.held.is_empty() {
        let held = Clean::ours(format!("also checked: {}", view.held.join(", ")));
        text.push_str(&format!("  {}\n", screen.style(DIM, &narrow(&held, screen.width.saturating_sub(2)))));
    }
    text
}

/// Header and rows, one line each, with as many columns as fit.
fn fitting(rows: &[&Row], width: usize) -> Vec<String> {
    let mut columns = ORDER.to_vec();
    columns.retain(|column| *column == Column::Metric || rows.iter().any(|row| cell(*column, row) != NONE));
    let mut left_out = LEFT_OUT.iter();
    loop {
        let lines = lay(rows, &columns);
        let fits = lines.iter().all(|line| line.width() <= width);
        match left_out.next() {
            Some(column) if !fits => columns.retain(|kept| kept != column),
            _ => return lines,
        }
    }
}

fn lay(rows: &[&Row], columns: &[Column]) -> Vec<String> {
    let mut table = Table::new();
    table.load_style(presets::NOTHING).set_content_arrangement(ContentArrangement::Disabled);
    let paired = rows.iter().any(|row| row.values.contains('→'));
    table.set_header(columns.iter().map(|column| heading(*column, paired)));
    for row in rows {
        table.add_row(columns.iter().map(|column| cell(*column, row)));
    }
    for (at, column) in columns.iter().enumerate() {
        let right = matches!(column, Column::Change | Column::P | Column::Cases);
        if let Some(column) = table.column_mut(at).filter(|_| right) {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
    table.lines().map(|line| format!(" {}", line.trim_end())).collect()
}

/// `paired`: there is a value of the baseline beside one of ours.
fn heading(column: Column, paired: bool) -> &'static str {
    match column {
        Column::Metric => "  metric",
        Column::Rule => "asked",
        Column::Values if paired => "baseline → now",
        Column::Values => "now",
        Column::Change => "change",
        Column::Interval => "likely between",
        Column::P => "p",
        Column::Cases => "cases",
        Column::Finding => "found",
    }
}

fn cell(column: Column, row: &Row) -> String {
    match column {
        Column::Metric => format!("{} {}", row.mark.sign(), narrow(&row.metric, 28)),
        Column::Rule => narrow(&row.rule, 26),
        Column::Values => row.values.clone(),
        Column::Change => row.change.clone(),
        Column::Interval => row.interval.clone(),
        // What decides is the one that allows for the number of metrics.
        Column::P => if row.p_adjusted == NONE { &row.p } else { &row.p_adjusted }.clone(),
        Column::Cases => row.cases.clone(),
        Column::Finding => row.finding.clone(),
    }
}

/// The sign and the finding in the mark's colour; the header dimmed. Styles do not change widths here: they come last.
fn styled(line: &str, row: Option<&Row>, screen: Screen) -> String {
    let Some(row) = row else { return screen.style(DIM, line) };
    let style = colour(row.mark);
    let line = match line.rsplit_once(row.finding.as_str()) {
        Some((start, end)) => format!("{start}{}{end}", screen.style(style, &row.finding)),
        None => line.to_owned(),
    };
    line.replacen(row.mark.sign(), &screen.style(style, row.mark.sign()), 1)
}
