//! What a host may say at a place in the repository, worst first. Hosts know their own escapes and limits.

use super::clean::Clean;
use super::view::View;
use crate::domain::{Place, Severity};

/// One remark; its texts are clean and not yet escaped.
#[derive(Clone, Debug)]
pub struct Remark {
    /// `Fail` and `Block` are errors, `Warn` a warning.
    pub severity: Severity,
    pub place: Option<Place>,
    pub about: About,
    /// What is judged, without numbers: the metric and what is asked of it, or the case and its target.
    pub subject: String,
    pub title: Clean,
    pub message: Clean,
}

/// What a remark is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum About {
    Rule,
    Case,
}

/// Characters of a message: readers see one or two lines.
const MESSAGE: usize = 600;

/// The rules that decide, then the cases that made them fail, then warnings.
pub fn remarks(view: &View<'_>) -> Vec<Remark> {
    let rules = view.rows.iter().filter(|row| row.severity != Severity::Ok).map(|row| Remark {
        severity: row.severity,
        place: None,
        about: About::Rule,
        subject: format!("{} {}", row.metric, row.rule),
        title: Clean::ours(format!("{} {}", row.metric, row.finding)),
        message: row.explanation.cut(MESSAGE),
    });
    let cases = view.broken.iter().filter(|shown| shown.decisive).map(|shown| {
        let part = |name: &str, text: &Option<Clean>| text.as_ref().map(|text| format!("{name}: {}", text.cut(200)));
        let parts = if shown.same_answer() {
            [part("asked", &shown.question), part("answer, unchanged", &shown.now), None]
        } else {
            [part("asked", &shown.question), part("before", &shown.before), part("now", &shown.now)]
        };
        let message: Vec<String> = parts.into_iter().flatten().collect();
        let message = if message.is_empty() { shown.moved().to_string() } else { message.join("\n") };
        Remark {
            severity: Severity::Fail,
            place: shown.place.clone(),
            about: About::Case,
            subject: match &shown.target {
                Some(target) => format!("{} {target}", shown.case),
                None => shown.case.to_string(),
            },
            title: Clean::ours(format!("{}: {}", shown.case.cut(80), shown.moved())).cut(200),
            message: Clean::ours(message).cut(MESSAGE),
        }
    });
    let mut remarks: Vec<Remark> = rules.chain(cases).collect();
    remarks.sort_by_key(|remark| remark.severity == Severity::Warn);
    remarks
}
