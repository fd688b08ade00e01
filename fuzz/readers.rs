//! What reads bytes from outside, each as a function that panics where the reader falls over or breaks its promise. Fuzz targets feed
//! them (`fuzz_targets/`), and so does the test suite (`reliability::readers`).

use std::cell::RefCell;
use std::path::Path;
use std::sync::LazyLock;
use std::time::{Duration, SystemTime};

use scoregate::dataset::Dataset;
use scoregate::diagnostic::Diagnostics;
use scoregate::domain::Env;
use scoregate::evaluator::{Contract, Grade, Lenient, read, read_list, read_pack};
use scoregate::net::{Call, Deadlines, Dialect, Purpose, Response, classify, rate_hint};
use scoregate::provider::{self, ChatRequest, Message, Model, Role};
use scoregate::store::{parse_baseline, read_runs};
use scoregate::suite::{self, Block};
use scoregate::text::template::Template;

/// Reads bytes; panics where it must not have read them so.
pub type Reader = fn(&[u8]);

/// Every reader by the name of its fuzz target.
pub const READERS: &[(&str, Reader)] = &[
    ("judge_reply", judge_reply),
    ("judge_list", judge_list),
    ("provider_answer", provider_answer),
    ("provider_error", provider_error),
    ("rate_headers", rate_headers),
    ("data_set", data_set),
    ("suite_file", suite_file),
    ("baseline", baseline),
    ("results", results),
    ("template", template),
];

const YES_OR_NO: &[(&str, f64)] = &[("YES", 1.0), ("NO", 0.0)];
const LETTERS: &[(&str, f64)] = &[("A", 1.0), ("B", 0.0), ("C", 0.5)];

/// Every form of a verdict, with its range.
pub fn contracts() -> Vec<(Contract, f64, f64)> {
    let label = || "VERDICT".to_owned();
    vec![
        (Contract::Words { label: label(), words: YES_OR_NO, bare: true }, 0.0, 1.0),
        (Contract::Words { label: label(), words: &[("PASS", 1.0), ("FAIL", 0.0)], bare: false }, 0.0, 1.0),
        (Contract::Letters { label: label(), letters: LETTERS, bare: true }, 0.0, 1.0),
        (Contract::Object { pass: false, lo: 0.0, hi: 1.0 }, 0.0, 1.0),
        (Contract::Object { pass: true, lo: 0.0, hi: 1.0 }, 0.0, 1.0),
        (Contract::FirstLine { lo: 1.0, hi: 5.0, object: false }, 1.0, 5.0),
        (Contract::FirstLine { lo: 1.0, hi: 5.0, object: true }, 1.0, 5.0),
        (Contract::Labelled { label: "00ff".to_owned(), lo: 1.0, hi: 5.0 }, 1.0, 5.0),
        (Contract::Tagged { tag: "score".to_owned(), lo: 1.0, hi: 5.0 }, 1.0, 5.0),
    ]
}

/// A verdict is in its range, and the same when it is read again; the ways of another tool are only survived.
pub fn judge_reply(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    for (contract, lo, hi) in contracts() {
        let reading = read(&contract, &text);
        assert_eq!(reading, read(&contract, &text), "{contract:?}");
        if let Ok(reading) = reading {
            assert!((lo..=hi).contains(&reading.value), "{contract:?} read {}", reading.value);
        }
    }
    let lenient = [
        Lenient::YesAnywhere,
        Lenient::FirstLine,
        Lenient::ResultNumber,
        Lenient::ResultDigit,
        Lenient::Brackets,
        Lenient::Passing,
    ];
    for way in lenient {
        let _ = read(&Contract::Compat(way), &text);
    }
}

/// One verdict an item, in its range; no text twice and none empty in a list.
pub fn judge_list(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    let ids = ["a", "b", "0123456789abcdef"].map(str::to_owned);
    for (grade, lo, hi) in [(Grade::Words(YES_OR_NO), 0.0, 1.0), (Grade::Number { lo: 1.0, hi: 5.0 }, 1.0, 5.0)] {
        if let Ok(items) = read_pack(&grade, &text, &ids) {
            assert_eq!(items.len(), ids.len());
            for reading in items.into_iter().flatten() {
                assert!((lo..=hi).contains(&reading.value), "{grade:?} read {}", reading.value);
            }
        }
    }
    if let Ok(list) = read_list(&text) {
        let mut once = list.clone();
        once.sort();
        once.dedup();
        assert_eq!(once.len(), list.len(), "a text stands twice");
        assert!(list.iter().all(|item| !item.trim().is_empty()), "an empty text");
    }
}

/// A model of every kind, with a question to it.
static MODELS: LazyLock<Vec<(Model, Call)>> = LazyLock::new(|| {
    let asked = |kind: &provider::Kind| {
        let settings = serde_json::json!({
            "model": "m", "base_url": "http://127.0.0.1:1", "price": {"input": 2.0, "output": 8.0},
        });
        let mut diagnostics = Diagnostics::default();
        let block = Block::from_value("judge", kind.name, settings);
        let model = provider::build(&[block], &Env::default(), &mut diagnostics).by_name.remove("judge");
        let model = model.unwrap_or_else(|| panic!("{} could not be built", kind.name));
        let second = Duration::from_secs(1);
        let request = ChatRequest {
            messages: vec![Message { role: Role::User, text: "Is it so?".to_owned() }],
            trial: 0,
            purpose: Purpose::Judge,
            deadlines: Deadlines { connect: second, whole: second },
            what: "a question".to_owned(),
            form: None,
        };
        let call = model.chat.call(&request);
        (model, call)
    };
    provider::kinds().iter().map(asked).collect()
});

fn response(status: u16, headers: Vec<(String, String)>, body: &[u8]) -> Response {
    Response { status, headers, body: body.to_vec().into(), latency: Duration::ZERO }
}

/// What is no reply says why, and what it cost is a sum of money.
pub fn provider_answer(bytes: &[u8]) {
    for (model, call) in MODELS.iter() {
        let cost = match model.chat.read(call, &response(200, Vec::new(), bytes)) {
            Ok(reply) => reply.cost,
            Err(rejection) => {
                assert!(!rejection.message.is_empty());
                rejection.spent.cost
            }
        };
        assert!(cost.is_none_or(|cost| cost.0.is_finite() && cost.0 >= 0.0), "{cost:?}");
    }
}

/// The first two bytes are the status.
pub fn provider_error(bytes: &[u8]) {
    let (status, body) = match bytes {
        [high, low, body @ ..] => (u16::from_be_bytes([*high, *low]) % 500 + 100, body),
        _ => (500, bytes),
    };
    let dialects = [
        Dialect::Plain,
        Dialect::Raw,
        Dialect::OpenAi,
        Dialect::AzureOpenAi,
        Dialect::Anthropic,
        Dialect::Gemini,
        Dialect::DashScope,
    ];
    for dialect in dialects {
        let rejection = classify(&response(status, Vec::new(), body), dialect, "http://127.0.0.1:1/");
        assert!(!rejection.message.is_empty());
        assert!(!rejection.message.chars().any(char::is_control), "{:?}", rejection.message);
    }
}

/// Lines of `name: value`.
pub fn rate_headers(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    let headers: Vec<(String, String)> = text
        .lines()
        .filter_map(|line| line.split_once(':'))
        .map(|(name, value)| (name.trim().to_lowercase(), value.trim().to_owned()))
        .collect();
    let hint = rate_hint(&headers, SystemTime::UNIX_EPOCH);
    let longest = Duration::from_secs(400 * 24 * 3600);
    assert!(hint.retry_after.is_none_or(|wait| wait <= longest), "{:?}", hint.retry_after);
}

thread_local! {
    static FOLDER: RefCell<Option<tempfile::TempDir>> = const { RefCell::new(None) };
}

/// A folder of this thread's own, for readers of files.
fn in_folder(read: impl FnOnce(&Path)) {
    FOLDER.with_borrow_mut(|folder| {
        let folder = folder.get_or_insert_with(|| tempfile::tempdir().expect("a folder"));
        std::fs::create_dir_all(folder.path().join(".git")).expect("a folder");
        read(folder.path());
    });
}

fn write(path: &Path, bytes: &[u8]) {
    std::fs::write(path, bytes).expect("a file");
}

/// The first byte chooses the format. As many cases come as were counted, and none of them is without a question.
pub fn data_set(bytes: &[u8]) {
    let [choice, rest @ ..] = bytes else { return };
    let formats = ["jsonl", "json", "yaml", "csv", "tsv"];
    let format = formats[usize::from(*choice) % formats.len()];
    in_folder(|folder| {
        let path = folder.join("scoregate.yaml");
        let suite = format!(
            "version: 1\nname: fuzz\ndataset: {{ path: data.{format} }}\nevaluators:\n  length: {{ min: 1 }}\n"
        );
        write(&path, suite.as_bytes());
        write(&folder.join(format!("data.{format}")), rest);
        let suite = suite::load(&path, &Env::default()).expect("the suite");
        if let Ok(data) = Dataset::open(&suite) {
            let cases: Vec<_> = data.cases().map(|case| case.expect("a case that was checked")).collect();
            assert_eq!(cases.len(), data.len);
            assert!(
                cases.iter().all(|case| !case.input.trim().is_empty() && !case.id.is_empty()),
                "a case without a question"
            );
        }
    });
}

/// What is no suite has a problem, and its models are built or have theirs.
pub fn suite_file(bytes: &[u8]) {
    in_folder(|folder| {
        let path = folder.join("fuzzed.yaml");
        write(&path, bytes);
        let env = Env::from_pairs([("NAME", "value-of-name"), ("OPENAI_API_KEY", "sk-of-nobody")]);
        let loaded = suite::load_with_problems(&path, &env);
        match &loaded.suite {
            None => assert!(loaded.problems.has_errors(), "no suite and no problem"),
            Some(suite) => {
                let mut problems = Diagnostics::default();
                let models = provider::build(&suite.models, &env, &mut problems);
                let built = models.by_name.len() + models.embedders.len();
                assert!(built == suite.models.len() || problems.has_errors(), "a model was lost");
            }
        }
    });
}

/// What is read is a baseline: runs, cases, scores in range.
pub fn baseline(bytes: &[u8]) {
    let Ok(baseline) = parse_baseline(bytes, Path::new("baseline.jsonl"), "baseline.jsonl") else { return };
    assert!(!baseline.runs.is_empty() && !baseline.cases.is_empty());
    for case in &baseline.cases {
        for (metric, runs) in &case.scores {
            assert_eq!(runs.len(), baseline.runs.len());
            let spec = baseline.metrics.iter().find(|spec| spec.name == *metric).expect("a metric of the header");
            assert!(runs.iter().flatten().all(|score| spec.kind.admits(*score)), "{metric}");
        }
    }
}

/// Results in our form, or lines of scores.
pub fn results(bytes: &[u8]) {
    in_folder(|folder| {
        let path = folder.join("results.jsonl");
        write(&path, bytes);
        if let Ok(runs) = read_runs(&path, &[]) {
            assert!(!runs.is_empty());
        }
    });
}

/// What parses names its variables.
pub fn template(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    if let Ok(template) = Template::parse(&text, &["input", "metadata"]) {
        assert!(template.names().all(|name| !name.is_empty()));
    }
}
