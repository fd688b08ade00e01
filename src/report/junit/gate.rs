//! The suite `gate`: a test case a rule, with its numbers.

use junit_report::{Duration, TestCase, TestResult};

use super::Part;
use super::dialect::{Extra, cdata};
use super::label::{Labels, Taken};
use crate::domain::{CallCounts, Comparison, RuleKind, Severity};
use crate::report::clean::Clean;
use crate::report::escape::{xml_attribute, xml_body};
use crate::report::view::View;
use crate::report::word;
use crate::text::number;

const MESSAGE: usize = 300;
const BODY: usize = 4_000;
const TAG: usize = 40;

pub(super) fn suite(view: &View<'_>, labels: &Labels) -> Part {
    let mut suite = Part::new(view, "gate");
    let mut taken = Taken::default();
    // What is only reported is no test.
    for rule in view.verdict.rules.iter().filter(|rule| rule.rule != RuleKind::Reported) {
        let key = word::rule_key(rule.rule);
        let metric = if rule.metric.is_empty() { String::new() } else { format!("{} / ", labels.metric(&rule.metric)) };
        let limit = rule.limit.map(|limit| limit.to_string()).unwrap_or_default();
        let statistic = rule.statistic.map(|one| format!(" {}", one.key())).unwrap_or_default();
        // Of a comparison of slices the name has always been without its tag.
        let tag = rule.slice.as_deref().filter(|_| rule.rule != RuleKind::Slice);
        let tag = tag
            .map(|tag| format!(" [{}]", xml_attribute(&view.cleaner.line(tag, TAG)).into_string()))
            .unwrap_or_default();
        let name = format!("{metric}{key}{statistic}{tag}{}", labels.of_target(&rule.target));
        let name = taken.unique(name, &[&rule.metric, &rule.target, key, &limit]);
        suite.tests.add_testcase(test(view, rule, &name, labels));
        suite.extras.push(Extra { line: None, properties: numbers(rule) });
    }
    let said = view.verdict.rules.iter().any(|rule| matches!(rule.severity, Severity::Fail | Severity::Block));
    if view.verdict.exit_code != 0 && !said {
        // A cancelled run is no pass, whatever its rules say.
        let kind = word::decision(view.verdict.decision);
        let headline = xml_attribute(&view.headline.cut(MESSAGE)).into_string();
        let body = cdata(&xml_body(&view.headline));
        let result = TestResult::Failure { type_: kind.to_owned(), message: headline, cause: Some(body) };
        suite.tests.add_testcase(case(&taken.unique("verdict".to_owned(), &["verdict"]), result, labels));
        suite.extras.push(Extra::default());
    }
    if view.verdict.shard.is_some() && view.verdict.exit_code == 0 {
        // Nothing is decided: no green test may stand for a verdict.
        let headline = xml_attribute(&view.headline.cut(MESSAGE)).into_string();
        let cause = Some(cdata(&xml_body(&view.headline)));
        let result = TestResult::SkippedWithCause { type_: "not_evaluated".to_owned(), message: headline, cause };
        suite.tests.add_testcase(case(&taken.unique("verdict".to_owned(), &["verdict"]), result, labels));
        suite.extras.push(Extra::default());
    }
    suite
}

/// What the run took and what it did not measure: no retry is silent.
pub(super) fn effort(view: &View<'_>) -> Vec<(&'static str, String)> {
    let mut properties = Vec::new();
    if let Some(end) = &view.run.completion {
        let CallCounts { requests, retries, cache_hits, repairs, waits, waited_ms } = end.calls;
        for (name, number) in [
            ("requests", requests),
            ("retries", retries),
            ("cache_hits", cache_hits),
            ("repairs", repairs),
            ("waits", waits),
            ("waited_ms", waited_ms),
        ] {
            properties.push((name, number.to_string()));
        }
    }
    properties.extend(view.verdict.cases.unmeasured().map(|share| ("unmeasured", number::exact(share))));
    properties
}

/// A rule fails where it makes the build fail, by evidence or for want of it.
fn test(view: &View<'_>, rule: &Comparison, name: &str, labels: &Labels) -> TestCase {
    let explanation = view.cleaner.line(&rule.explanation, BODY);
    let explanation = if explanation.is_blank() { Clean::ours(word::finding(rule)) } else { explanation };
    let result = match rule.severity {
        Severity::Ok | Severity::Warn => TestResult::Success,
        Severity::Fail | Severity::Block => TestResult::Failure {
            type_: word::rule_key(rule.rule).to_owned(),
            message: xml_attribute(&explanation.cut(MESSAGE)).into_string(),
            cause: Some(cdata(&xml_body(&explanation))),
        },
    };
    case(name, result, labels)
}

fn case(name: &str, result: TestResult, labels: &Labels) -> TestCase {
    let mut test = TestCase::success(name, Duration::ZERO);
    test.result = result;
    test.set_classname(&labels.class("gate"));
    test
}

fn numbers(rule: &Comparison) -> Vec<(&'static str, String)> {
    let mut numbers = vec![("verdict", word::finding(rule))];
    let ends = rule.ci.map_or([None, None], |ends| ends.map(Some));
    for (name, value) in [
        ("baseline", rule.baseline),
        ("current", rule.current),
        ("delta", rule.delta),
        ("ci_low", ends[0]),
        ("ci_high", ends[1]),
        ("p", rule.p),
        ("p_adjusted", rule.p_adjusted),
        ("limit", rule.limit),
        ("detectable", rule.detectable),
    ] {
        numbers.extend(value.filter(|value| value.is_finite()).map(|value| (name, number::exact(value))));
    }
    numbers.push(("n", rule.n.to_string()));
    numbers
}
