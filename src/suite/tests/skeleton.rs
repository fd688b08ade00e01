//! The suite's own keys.

use std::time::Duration;

use serde_json::json;

use super::*;

const WHOLE: &str = r#"version: 1
name: support-rag

dataset:
  - path: data/questions.jsonl
    fields: { id: qid, input: question, reference: gold, contexts: "$.nodes[*].text", tags: topic }
    where: "lang == 'zh'"
    sample: { n: 200, seed: 7 }

targets:
  app:
    http:
      url: "${APP_URL:-http://127.0.0.1:8000}/query"
      body: { question: "{{ input }}" }
      answer: $.answer
      contexts: $.sources[*].text

models:
  judge:
    provider: openai
    model: gpt-4.1
    temperature: 0
    price: { input: 2.0, output: 8.0 }

evaluators:
  faithfulness: { model: judge }
  relevancy:    { model: judge }
  rouge_l:      {}
  tone:         { use: guideline, model: judge, guideline: "Answers politely and never blames the user." }

gate:
  metrics:
    faithfulness: { min: 0.85, margin: 0.03 }
  must_pass: { tags: [critical] }
  alpha: 0.05
  inconclusive: warn
  errors: { max_new: 0 }
  baseline: { from: git, runs: 5 }

run:
  workers: auto
  batch_size: 1
  trials: 3
  timeout: 60s
  retry: { attempts: 6, max_elapsed: 10m }
  record: { chunk_size: 512, retriever: bm25, version: 1.10 }

reports: { dir: scoregate-out }
"#;

#[test]
fn the_whole_form_loads() {
    let suite = suite(WHOLE).unwrap();
    assert_eq!(suite.name, "support-rag");
    let target = &suite.targets[0];
    assert_eq!((&*target.name, &*target.kind, target.path.as_str()), ("app", "http", "targets.app"));
    assert_eq!(target.value["answer"], "$.answer");
    let model = &suite.models[0];
    assert_eq!((&*model.name, &*model.kind), ("judge", "openai"));
    assert!(model.value.get("provider").is_none());
    let kinds: Vec<(&str, &str)> = suite.evaluators.iter().map(|block| (&*block.name, &*block.kind)).collect();
    assert_eq!(
        kinds,
        [("faithfulness", "faithfulness"), ("relevancy", "relevancy"), ("rouge_l", "rouge_l"), ("tone", "guideline")]
    );
    assert_eq!(suite.evaluators[3].value["model"], "judge");
    assert!(suite.evaluators[3].value.get("use").is_none());
    assert_eq!(suite.gate.as_ref().unwrap().value["alpha"], 0.05);
    assert_eq!(suite.reports.as_ref().unwrap().value, json!({"dir": "scoregate-out"}));
    assert_eq!((suite.run.workers, suite.run.trials, suite.run.timeout), (None, 3, Duration::from_secs(60)));
    assert_eq!(suite.run.retry_max_elapsed, Duration::from_secs(600));
    assert_eq!(suite.run.record["version"], "1.10");
    assert!(suite.run.ledger.is_absolute() && suite.run.ledger.ends_with(".scoregate/ledger.sqlite"));
    let gate = suite.gate.unwrap();
    assert_eq!(gate.place("/metrics/faithfulness/min"), crate::diagnostic::Span::new(33, 26, 4));
    assert_eq!(gate.place("/metrics/faithfulness/gone").line, 33);
}

#[test]
fn the_same_suite_as_json_and_with_windows_line_ends() {
    let yaml = suite(SMALL).unwrap();
    let json = suite(r#"{"version": 1, "name": "small", "dataset": {"path": "a.csv"}, "evaluators": {"equals": {}}}"#)
        .unwrap();
    assert_eq!(yaml.dataset[0].value, json.dataset[0].value);
    let windows = suite(&format!("\u{feff}{}", SMALL.replace('\n', "\r\n"))).unwrap();
    assert_eq!((windows.name, windows.dataset[0].value.clone()), (json.name, json.dataset[0].value.clone()));
}

#[test]
fn a_suite_without_targets_scores_recorded_answers() {
    let suite = suite(SMALL).unwrap();
    assert_eq!((&*suite.targets[0].name, &*suite.targets[0].kind), ("recorded", "recorded"));
    assert!(brief(&format!("{SMALL}targets: {{}}\n"))[0].contains("`targets` must not be empty"));
}

#[test]
fn ten_mistakes_are_ten_problems() {
    let text = "version: 2\nname: \"\"\ndatasett: { path: a.csv }\ntargets:\n  app: { http: {}, chat: {} }\n  b: { grpc: {} }\nmodels:\n  judge: { model: x }\nevaluators:\n  tone: 5\n  equals: { use: [a] }\nrun:\n  workers: many\n  timeout: 60\n  trials: []\n  retry: { attempts: 0 }\nbanana: 1\n";
    insta::assert_snapshot!(brief(text).join("\n"), @r#"
    invalid-value 1:10 `version` must be `1`, found the number 2
    empty 2:7 `name` must not be empty
    unknown-key 3:1 unknown key `datasett`
    two-kinds 5:20 target `app` is both `http` and `chat`
    unknown-kind 6:8 unknown kind of target `grpc`
    missing-key 8:3 model `judge` has no `provider`
    wrong-type 10:9 `tone` must be a mapping, found the number 5
    wrong-type 11:18 `use` must be a word of the file itself
    invalid-value 13:12 `workers` must be `auto` or a whole number, found the text "many"
    invalid-value 14:12 `timeout`: a duration needs a unit, such as `60s`, `60m` or `60ms`
    empty 15:11 `trials` must not be empty
    out-of-range 16:22 `attempts` must be at least 1, found the number 0
    unknown-key 17:1 unknown key `banana`
    "#);
}

#[test]
fn a_budget_is_read() {
    let text = format!("{SMALL}run: {{ budget: {{ usd: 5, tokens: 1000, requests: 10, time: 30m }} }}\n");
    let budget = suite(&text).unwrap().run.budget;
    assert_eq!((budget.usd, budget.tokens, budget.requests), (Some(5.0), Some(1_000), Some(10)));
    assert_eq!(budget.time, Some(std::time::Duration::from_secs(1_800)));
    let wrong = brief(&format!("{SMALL}run: {{ budget: {{ usd: 0, tokens: 0, dollars: 3 }} }}\n"));
    assert_eq!(wrong.len(), 3, "{wrong:?}");
}

#[test]
fn trials_are_a_number_or_rising_looks() {
    let read = |trials: &str| suite(&format!("{SMALL}run: {{ trials: {trials} }}\n")).unwrap().run;
    assert_eq!((read("2").trials, read("2").looks), (2, vec![2]));
    assert_eq!((read("[1, 3]").trials, read("[1, 3]").looks), (1, vec![1, 3]));
    assert_eq!(read("[1, 2, 5]").looks, [1, 2, 5]);
    for wrong in ["[]", "[0, 3]", "[3, 1]", "[1, 1]", "0", "two"] {
        assert_eq!(brief(&format!("{SMALL}run: {{ trials: {wrong} }}\n")).len(), 1, "{wrong}");
    }
}

#[test]
fn questions_are_packed_up_to_twenty() {
    let size = |run: &str| suite(&format!("{SMALL}run: {run}\n")).unwrap().run.batch_size;
    assert_eq!((size("{ workers: 2 }"), size("{ batch_size: 1 }"), size("{ batch_size: 20 }")), (1, 1, 20));
    for wrong in ["0", "21", "-1", "2.5", "many"] {
        assert_eq!(brief(&format!("{SMALL}run: {{ batch_size: {wrong} }}\n")).len(), 1, "{wrong}");
    }
}

#[test]
fn what_is_not_built_yet_is_refused_by_name() {
    let found = brief(&format!("{SMALL}run: {{ mode: batch }}\n"));
    assert_eq!(found.len(), 1);
    assert!(found.iter().all(|problem| problem.starts_with("not-available 5:")), "{found:?}");
}

#[test]
fn a_missing_part_is_named() {
    assert_eq!(
        brief("{}"),
        [
            "missing-key 1:1 missing key `version`",
            "missing-key 1:1 missing key `name`",
            "missing-key 1:1 missing key `dataset`",
            "missing-key 1:1 missing key `evaluators`"
        ]
    );
    assert_eq!(brief(""), brief("{}"));
    assert_eq!(brief("[]"), ["wrong-type 1:1 `suite` must be a mapping, found a list"]);
    assert!(brief(&SMALL.replace("{ equals: {} }", ""))[0].contains("`evaluators` must be a mapping, found nothing"));
    assert!(brief(&SMALL.replace("{ path: a.csv }", "[]"))[0].contains("`dataset` must not be empty"));
}

#[test]
fn run_settings_are_checked() {
    let found = brief(&format!("{SMALL}run: {{ workers: 0, timeout: 0s, ledger: ../x, tials: 1 }}\n"));
    assert_eq!(
        found,
        [
            "out-of-range 5:17 `workers` must be at least 1, found the number 0",
            "out-of-range 5:29 `timeout` must be more than nothing",
            "path 5:41 `../x` leads out of the project",
            "unknown-key 5:47 unknown key `tials`"
        ]
    );
    let found = brief(&format!("{SMALL}run: {{ budget: {{ time: 0s }}, retry: {{ max_elapsed: 0s }} }}\n"));
    let nothing = |name: &str| found.iter().any(|line| line.ends_with(&format!("`{name}` must be more than nothing")));
    assert!(found.len() == 2 && nothing("time") && nothing("max_elapsed"), "{found:?}");
    let found = brief(&format!("{SMALL}run: {{ timeout: 0s, ledger: ../x }}\n"));
    assert_eq!(found[0], "out-of-range 5:17 `timeout` must be more than nothing");
    assert!(found[1].starts_with("path 5:"), "{found:?}");
    assert_eq!(
        suite(&format!("{SMALL}run: {{ workers: 8, deadline: 1h30m }}\n")).unwrap().run.workers,
        std::num::NonZeroUsize::new(8)
    );
}

#[test]
fn a_missing_file_and_a_folder_say_what_to_do() {
    let folder = tempfile::tempdir().unwrap();
    let missing = load(&folder.path().join("no.yaml"), &Env::default()).unwrap_err();
    assert!(render(&missing).contains("give the suite's path"));
    assert!(render(&load(folder.path(), &Env::default()).unwrap_err()).contains("is not a file"));
}

#[test]
fn the_project_root_is_the_nearest_folder_with_git() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().canonicalize().unwrap();
    std::fs::create_dir_all(root.join("evals")).unwrap();
    std::fs::create_dir(root.join(".git")).unwrap();
    std::fs::write(root.join("evals/s.yaml"), SMALL).unwrap();
    let suite = load(&root.join("evals/s.yaml"), &Env::default()).unwrap();
    assert_eq!((&suite.root, &suite.folder), (&root, &root.join("evals")));
    assert_eq!(suite.resolve("../data.csv").unwrap(), root.join("data.csv"));
    assert!(suite.resolve("../../data.csv").is_err());
}

#[test]
fn the_schema_accepts_the_whole_form_and_refuses_slips() {
    #[derive(serde::Deserialize, schemars::JsonSchema)]
    #[serde(deny_unknown_fields)]
    #[expect(dead_code, reason = "only its form matters")]
    struct Judge {
        /// The judge.
        model: String,
        guideline: Option<Inner>,
    }
    #[derive(serde::Deserialize, schemars::JsonSchema)]
    #[serde(transparent)]
    #[expect(dead_code, reason = "only its form matters")]
    struct Inner(String);
    let judge = || schemars::schema_for!(Judge);
    let open = || schemars::json_schema!({"type": "object"});
    let parts = SchemaParts {
        targets: vec![("http", open())],
        models: vec![("openai", open())],
        evaluators: vec![
            ("faithfulness", judge()),
            ("relevancy", judge()),
            ("guideline", judge()),
            ("rouge_l", open()),
        ],
        ..SchemaParts::default()
    };
    let schema = schema(parts);
    assert!(jsonschema::draft202012::meta::is_valid(&schema));
    let validator = jsonschema::draft202012::new(&schema).unwrap();
    let whole: serde_json::Value = serde_yaml::from_str(WHOLE).unwrap();
    let errors: Vec<String> = validator.iter_errors(&whole).map(|error| error.to_string()).collect();
    assert!(errors.is_empty(), "{errors:?}");
    for (from, to) in [
        ("use: guideline", "use: guidelines"),
        ("relevancy:    { model: judge }", "relevancy:    { modle: judge }"),
        ("provider: openai", "provider: opena"),
        ("http:", "htp:"),
        ("version: 1\n", "version: 2\n"),
    ] {
        let slip: serde_json::Value = serde_yaml::from_str(&WHOLE.replace(from, to)).unwrap();
        assert!(!validator.is_valid(&slip), "{to}");
    }
}
