//! `compare` of other tools' files: in every format a drop is found, luck is none, and what is missing is not green.

use std::fmt::Write as _;

use serde_json::{Value, json};

use crate::command::{check, checked, command, folder, root, verdict};

const CASES: usize = 80;

/// One case of a run: its number and its score; `None`: it could not be measured.
type Scores = Vec<(usize, Option<f64>)>;

/// Nine in ten are good; which ones differs a little between runs.
fn run(seed: usize, broken: usize) -> Scores {
    let bad = |case: usize| case < broken || (case + seed).is_multiple_of(11);
    (0..CASES).map(|case| (case, Some(if bad(case) { 0.0 } else { 1.0 }))).collect()
}

fn promptfoo(scores: &Scores) -> String {
    let result = |(case, score): &(usize, Option<f64>)| {
        let good = *score == Some(1.0);
        let assertion = json!({"type": "icontains", "value": "yes"});
        let part = json!({"pass": good, "score": score, "reason": "", "assertion": assertion});
        json!({
            "promptIdx": 0, "testIdx": case, "provider": {"id": "openai:gpt-4.1-mini", "label": ""},
            "prompt": {"raw": "Answer.", "label": "Answer."}, "vars": {"question": format!("Question {case}?")},
            "testCase": {"vars": {}, "assert": [assertion]}, "success": good, "score": score, "namedScores": {},
            "failureReason": if score.is_none() { 2 } else { u8::from(!good) },
            "error": if score.is_none() { json!("API call error: 503") } else { Value::Null },
            "gradingResult": if score.is_none() { Value::Null } else {
                json!({"pass": good, "score": score, "reason": "", "componentResults": [part]})
            },
        })
    };
    let results: Vec<Value> = scores.iter().map(result).collect();
    let document = json!({"evalId": "eval-1", "results": {"version": 3, "results": results}, "config": {}});
    serde_json::to_string_pretty(&document).expect("JSON")
}

fn deepeval(scores: &Scores) -> String {
    let case = |(case, score): &(usize, Option<f64>)| {
        let good = *score == Some(1.0);
        let error = if score.is_none() { json!("judge timed out") } else { Value::Null };
        let metric =
            json!({"name": "Correctness [GEval]", "threshold": 0.5, "success": good, "score": score, "error": error});
        json!({"name": format!("test_case_{case}"), "input": format!("Question {case}?"), "success": good, "metricsData": [metric]})
    };
    let cases: Vec<Value> = scores.iter().map(case).collect();
    serde_json::to_string_pretty(&json!({"testCases": cases, "testPassed": 0})).expect("JSON")
}

fn inspect_ai(scores: &Scores) -> String {
    let sample = |(case, score): &(usize, Option<f64>)| {
        let grade = if *score == Some(1.0) { "C" } else { "I" };
        let mut sample = json!({"id": case, "epoch": 1, "input": format!("Question {case}?"), "target": "yes"});
        match score {
            Some(_) => sample["scores"] = json!({"match": {"value": grade}}),
            None => sample["error"] = json!({"message": "container exited"}),
        }
        sample
    };
    let samples: Vec<Value> = scores.iter().map(sample).collect();
    let eval = json!({"task": "t", "model": "openai/gpt-4.1-mini"});
    let log = json!({"version": 2, "status": "success", "eval": eval, "samples": samples});
    serde_json::to_string_pretty(&log).expect("JSON")
}

fn junit(scores: &Scores) -> String {
    let mut text = "<?xml version=\"1.0\"?>\n<testsuites><testsuite name=\"pytest\">\n".to_owned();
    for (case, score) in scores {
        let end = match score {
            Some(1.0) => "",
            Some(_) => "<failure message=\"no\"/>",
            None => "<error message=\"ConnectionError\"/>",
        };
        let _ = writeln!(text, "<testcase classname=\"tests.app\" name=\"test_{case}\">{end}</testcase>");
    }
    text + "</testsuite></testsuites>\n"
}

fn ragas(scores: &Scores) -> String {
    let mut text = ",user_input,response,faithfulness\n".to_owned();
    for (case, score) in scores {
        let score = score.map_or_else(String::new, |score| score.to_string());
        let _ = writeln!(text, "{case},\"Question {case}, please?\",yes,{score}");
    }
    text
}

fn ragas_lines(scores: &Scores) -> String {
    let line = |(case, score): &(usize, Option<f64>)| {
        format!("{}\n", json!({"user_input": format!("Question {case}?"), "response": "yes", "faithfulness": score}))
    };
    scores.iter().map(line).collect()
}

fn wide(scores: &Scores) -> String {
    let row = |(case, score): &(usize, Option<f64>)| {
        format!("q{case};{}\n", score.map_or_else(|| "NaN".to_owned(), |score| score.to_string()))
    };
    "id;quality\n".to_owned() + &scores.iter().map(row).collect::<String>()
}

fn long(scores: &Scores) -> String {
    let row = |(case, score): &(usize, Option<f64>)| match score {
        Some(score) => format!("q{case},quality,{score},\n"),
        None => format!("q{case},quality,,judge timed out\n"),
    };
    "case,metric,value,error\n".to_owned() + &scores.iter().map(row).collect::<String>()
}

fn lines(scores: &Scores) -> String {
    let line =
        |(case, score): &(usize, Option<f64>)| format!("{}\n", json!({"id": format!("q{case}"), "quality": score}));
    scores.iter().map(line).collect()
}

struct Format {
    name: &'static str,
    file: &'static str,
    metric: &'static str,
    render: fn(&Scores) -> String,
}

const FORMATS: [Format; 9] = [
    Format { name: "promptfoo", file: "output.json", metric: "icontains", render: promptfoo },
    Format { name: "deepeval", file: "test_run.json", metric: "Correctness [GEval]", render: deepeval },
    Format { name: "inspect_ai", file: "log.json", metric: "match", render: inspect_ai },
    Format { name: "junit", file: "junit.xml", metric: "pass", render: junit },
    Format { name: "ragas", file: "result.csv", metric: "faithfulness", render: ragas },
    Format { name: "ragas", file: "result.jsonl", metric: "faithfulness", render: ragas_lines },
    Format { name: "scores", file: "wide.csv", metric: "quality", render: wide },
    Format { name: "scores", file: "long.csv", metric: "quality", render: long },
    Format { name: "scores", file: "wide.jsonl", metric: "quality", render: lines },
];

/// Both files in a folder, and what `compare` said of them.
fn compared(format: &Format, now: &Scores, before: &Scores, expected: i32) -> (String, Value) {
    let (now, before) = ((format.render)(now), (format.render)(before));
    let (current, base) = (format!("now-{}", format.file), format!("base-{}", format.file));
    let place = folder(&[(&current, &now), (&base, &before)]);
    let said = check(place.path(), &["compare", &current, &base, "--out", "scoregate-out"], expected);
    let named = check(place.path(), &["compare", &current, &base, "--from", format.name], expected);
    assert_eq!(said, named, "--from {} says something else", format.name);
    (said, verdict(place.path()))
}

fn rule<'v>(verdict: &'v Value, metric: &str) -> &'v Value {
    let rules = verdict["rules"].as_array().expect("rules");
    let found = rules.iter().find(|rule| rule["metric"] == metric && rule["rule"] == "not_worse");
    found.unwrap_or_else(|| panic!("no rule of {metric} in {verdict}"))
}

#[test]
fn a_drop_is_found_in_every_format() {
    for format in &FORMATS {
        let (said, verdict) = compared(format, &run(1, 20), &run(1, 0), 1);
        assert_eq!(rule(&verdict, format.metric)["verdict"], "violated", "{}: {said}", format.file);
        assert!(said.contains("got worse"), "{}: {said}", format.file);
    }
}

#[test]
fn luck_is_no_drop_in_any_format() {
    for format in &FORMATS {
        let (said, verdict) = compared(format, &run(2, 0), &run(1, 0), 0);
        assert_ne!(rule(&verdict, format.metric)["verdict"], "violated", "{}: {said}", format.file);
    }
}

/// The same with half of the scores missing, and in another order.
#[test]
fn what_is_missing_is_never_green_and_order_never_matters() {
    for format in &FORMATS {
        let mut gone = run(1, 0);
        gone.iter_mut().filter(|(case, _)| case % 2 == 0).for_each(|(_, score)| *score = None);
        let (now, before) = ((format.render)(&gone), (format.render)(&run(1, 0)));
        let place = folder(&[(format.file, &now), ("base", &before)]);
        let output = command(place.path(), &["compare", format.file, "base"]).output().expect("it starts");
        let code = output.status.code();
        // A target that failed is a new error, a judge that failed is missing evidence.
        assert!(matches!(code, Some(1 | 3)), "{}: {code:?}", format.file);
        let mut reversed = run(2, 0);
        reversed.reverse();
        let verdicts = [run(2, 0), reversed].map(|now| compared(format, &now, &run(1, 0), 0).1["rules"].to_string());
        assert_eq!(verdicts[0], verdicts[1], "{}", format.file);
    }
}

#[test]
fn formats_mix_where_cases_and_metrics_are_called_the_same() {
    let (now, before) = (wide(&run(1, 20)), long(&run(1, 0)));
    let ours: String = run(1, 0)
        .iter()
        .map(|(case, score)| format!("{}\n", json!({"case": format!("q{case}"), "metric": "quality", "value": score})))
        .collect();
    let place = folder(&[("now.csv", &now), ("before.csv", &before), ("ours.jsonl", &ours)]);
    for base in ["before.csv", "ours.jsonl"] {
        assert!(check(place.path(), &["compare", "now.csv", base], 1).contains("quality got worse"));
    }
}

#[test]
fn several_files_are_the_runs_of_one_pool() {
    let files: Vec<String> =
        (1..4).map(|seed| promptfoo(&run(seed, 0)).replace("eval-1", &format!("eval-{seed}"))).collect();
    let now = promptfoo(&run(9, 20));
    let place = folder(&[("now.json", &now), ("1.json", &files[0]), ("2.json", &files[1]), ("3.json", &files[2])]);
    let said = check(place.path(), &["compare", "now.json", "1.json", "2.json", "3.json", "--out", "scoregate-out"], 1);
    assert!(said.contains("stable cases broke"), "{said}");
    assert_eq!(verdict(place.path())["baseline_runs"].as_array().map(Vec::len), Some(3), "{said}");
    let tables: Vec<String> = (1..3).map(|seed| wide(&run(seed, 0))).collect();
    let place = folder(&[("now.csv", &wide(&run(3, 0))), ("1.csv", &tables[0]), ("2.csv", &tables[1])]);
    check(place.path(), &["compare", "now.csv", "1.csv", "2.csv"], 0);
    let twice = check(place.path(), &["compare", "now.csv", "1.csv", "gone.csv"], 2);
    assert!(twice.contains("gone.csv"), "{twice}");
}

/// Two providers are two targets; where each side knows one, a change of provider is what is judged.
#[test]
fn providers_are_targets() {
    let (now, before) = (promptfoo(&run(1, 20)).replace("gpt-4.1-mini", "gpt-5-nano"), promptfoo(&run(1, 0)));
    let place = folder(&[("now.json", &now), ("base.json", &before)]);
    let said = check(place.path(), &["compare", "now.json", "base.json"], 1);
    assert!(said.contains("`openai:gpt-4.1-mini` is compared with") && said.contains("gpt-5-nano"), "{said}");
    let sample = root().join("fixtures/peer/promptfoo.json");
    let sample = sample.to_str().expect("UTF-8");
    let said = check(place.path(), &["compare", sample, sample, "--format", "json"], 3);
    assert!(said.contains("small model") && said.contains("anthropic:messages:claude-sonnet-4-5"), "{said}");
}

#[test]
fn scales_and_directions_come_from_the_suite() {
    let policy = "version: 1\nname: p\ndataset: { path: d.jsonl }\nevaluators:\n  exact_match: {}\ngate:\n  metrics:\n    grade: { type: ordinal, range: [1, 5] }\n    wer: { direction: lower }\n";
    let table = |grade: u8, wer: f64| {
        let row = |case: usize| format!("q{case},{},{}\n", usize::from(grade) - case % 2, wer + case as f64 / 1000.0);
        "id,grade,wer\n".to_owned() + &(0..60).map(row).collect::<String>()
    };
    let (good, bad) = (table(5, 0.1), table(4, 0.3));
    let place = folder(&[("policy.yaml", policy), ("good.csv", &good), ("bad.csv", &bad)]);
    let said = check(place.path(), &["compare", "bad.csv", "good.csv", "--suite", "policy.yaml"], 1);
    assert!(said.contains("grade got worse") && said.contains("wer got worse"), "{said}");
    check(place.path(), &["compare", "good.csv", "bad.csv", "--suite", "policy.yaml"], 0);
    // Without the suite the scale is not known, and is not guessed.
    let said = check(place.path(), &["compare", "bad.csv", "good.csv"], 2);
    assert!(said.contains("bad.csv:2:") && said.contains("gate.metrics"), "{said}");
    check(place.path(), &["compare", "bad.csv", "good.csv", "--metric", "wer"], 0);
    let said = check(place.path(), &["compare", "bad.csv", "good.csv", "--metric", "were"], 2);
    assert!(said.contains("did you mean `wer`"), "{said}");
}

#[test]
fn what_is_no_result_of_anybody_says_what_was_tried() {
    let place =
        folder(&[("odd.json", "{\"a\": 1}"), ("good.csv", &wide(&run(1, 0))), ("cut.json", "{\n\"results\": [")]);
    let said = check(place.path(), &["compare", "odd.json"], 2);
    for word in ["promptfoo", "deepeval", "ragas", "inspect_ai", "junit", "scores", "--from"] {
        assert!(said.contains(word), "{word} is not named:\n{said}");
    }
    assert!(check(place.path(), &["compare", "cut.json"], 2).contains("cut.json:2:"));
    // A baseline that cannot be read is no evidence, and no usage error of the run's.
    assert!(check(place.path(), &["compare", "good.csv", "odd.json"], 3).contains("odd.json"));
    let output = command(place.path(), &["compare", "good.csv", "--from", "promptfo"]).output().expect("it starts");
    assert!(checked(&output, 2).contains("promptfoo"));
}
