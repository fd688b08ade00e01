//! Cases that the baseline answered and the system under test now does not (statistics §13.1). An error is never a score.

use super::comparable::Standing;
use super::scene::{Finding, Scene};
use super::sheet::grouped;
use super::word::names;
use crate::domain::{Bound, CaseId, CaseRecord, FailureKind, Reason, RuleKind, RuleVerdict, Severity, Side};
use crate::text::number::counted;

/// The rule of one target; `None` without anything to compare with.
pub(crate) fn finding(scene: &Scene<'_>, at: usize) -> Option<Finding> {
    let sheet = scene.sheets.get(at)?;
    let side = scene.reference.as_ref()?.sides.get(at).filter(|side| side.known)?;
    let mut compared = 0;
    let mut failed: Vec<(CaseId, FailureKind)> = Vec::new();
    for (row, standing) in sheet.rows.iter().zip(&side.standing) {
        let Standing::Same(case) = standing else { continue };
        if !case.answered {
            continue;
        }
        compared += 1;
        if let Some(kind) = no_answer(row) {
            failed.push((row.id.clone(), kind));
        }
    }
    let allowed = scene.policy.max_new_errors;
    let errors = failed.len() as u64;
    let (verdict, reason, severity) = if errors > allowed {
        (RuleVerdict::Violated, Reason::Errors, Severity::Fail)
    } else {
        (RuleVerdict::Met, Reason::NothingNew, Severity::Ok)
    };
    let mut finding = Finding::new(RuleKind::NewErrors, "", &sheet.target, verdict, reason).with_severity(severity);
    finding.comparison.current = Some(errors as f64);
    finding.comparison.require(allowed as f64, Bound::AtMost);
    finding.comparison.n = compared;
    finding.comparison.planned = compared;
    finding.named = failed.iter().map(|(id, _)| (id.clone(), "".into())).collect();
    Some(explained(finding, &scene.of_target(&sheet.target), &failed, allowed))
}

/// Why the target answered no trial of a case, where the target itself failed.
fn no_answer(row: &CaseRecord) -> Option<FailureKind> {
    if row.trials.iter().any(|trial| trial.answered.is_ok()) {
        return None;
    }
    row.trials.iter().find_map(|trial| match trial.answered {
        Err((kind, Side::Target)) => Some(kind),
        Err((_, Side::Infra)) | Ok(()) => None,
    })
}

fn explained(finding: Finding, of_target: &str, failed: &[(CaseId, FailureKind)], allowed: u64) -> Finding {
    if failed.is_empty() {
        return finding
            .saying("no new errors", "Every case that the baseline answered got an answer, or could not be asked.");
    }
    let ids: Vec<&str> = failed.iter().map(|(id, _)| &**id).collect();
    let kinds = grouped(failed.iter().map(|(_, kind)| kind.word()));
    let cases = counted(failed.len() as u64, "case", "cases");
    let text = format!("{cases} that the baseline answered got no answer{of_target} ({kinds})");
    let tail = if finding.comparison.severity == Severity::Fail { "" } else { ", which the policy allows" };
    let explanation = format!("{text}, {allowed} allowed{tail}: {}.", names(&ids, 10));
    finding.saying(text, explanation)
}
