//! `compat: llamaindex` has LlamaIndex' number for the same reply; the strict reading has none where a reply is not exactly a verdict.

use serde_json::{Value, json};

use super::*;

/// Columns of the readings.
const YES: usize = 0;
const CORRECTNESS: usize = 1;
const CONTEXT: usize = 2;
const ANSWER: usize = 3;
const PAIRWISE: usize = 4;

struct Reply {
    text: String,
    /// By column; `None`: LlamaIndex has no score.
    readings: Vec<Option<f64>>,
}

fn read(path: &str) -> String {
    std::fs::read_to_string(format!("{}/fixtures/{path}", env!("CARGO_MANIFEST_DIR"))).unwrap()
}

fn readings(value: &Value) -> Vec<Option<f64>> {
    value.as_array().unwrap().iter().map(Value::as_f64).collect()
}

/// Hand-made replies, the recorded ones, and these with marks around them.
fn replies() -> Vec<Reply> {
    let known: Value = serde_json::from_str(&read("judges/llamaindex-readings.json")).unwrap();
    let mut replies: Vec<Reply> = known["hand"]
        .as_array()
        .unwrap()
        .iter()
        .map(|row| Reply { text: row[0].as_str().unwrap().to_owned(), readings: readings(&row[1]) })
        .collect();
    let raws: Vec<String> = ["judge-base", "judge-regressed", "judge-variety"]
        .iter()
        .flat_map(|file| read(&format!("peps-rag/runs/{file}.jsonl")).lines().map(str::to_owned).collect::<Vec<_>>())
        .map(|line| serde_json::from_str::<Value>(&line).unwrap()["raw"].as_str().unwrap().to_owned())
        .collect();
    let recorded = known["recorded"].as_array().unwrap();
    assert_eq!((raws.len(), recorded.len()), (656, 656));
    for (at, (raw, row)) in raws.into_iter().zip(recorded).enumerate() {
        let (mark, letter) = (row[1].as_str().unwrap(), ["A", "B", "C", "D"][at % 4]);
        let marked = format!("{mark}\n{raw}\n[RESULT] {mark} [[{letter}]]");
        replies.push(Reply { text: raw, readings: readings(&row[0]) });
        replies.push(Reply { text: marked, readings: readings(&row[2]) });
    }
    replies
}

/// Every reply given to `name` with these settings comes to what `expected` makes of its readings; a number off the scale is none.
async fn same_numbers(name: &str, settings: Value, expected: impl Fn(&[Option<f64>]) -> Option<f64>) {
    let (mut scored, mut unscored) = (0, 0);
    for reply in replies() {
        let ready = judge(name, settings.clone(), always(&reply.text));
        let transport = Loopback::default();
        let case = case("Capital of Australia?", Some("Canberra"));
        let asked = ask(&ready, &case, &answer("Sydney.", &["Canberra is the capital."]), &transport).await;
        let wanted = expected(&reply.readings).filter(|value| ready.spec.kind.admits(*value));
        match (&asked.measurement, wanted) {
            (Measurement::Value(reading), Some(wanted)) => {
                assert_eq!(reading.value(), wanted, "{name}: {:?}", reply.text);
                scored += 1;
            }
            (Measurement::Unusable(_) | Measurement::Error(_), None) => unscored += 1,
            (other, wanted) => panic!("{name}: {:?} is {other:?}, not {wanted:?}", reply.text),
        }
    }
    assert!(scored > 10 && scored + unscored == 656 * 2 + 33, "{name}: {scored} {unscored}");
}

#[tokio::test]
async fn faithfulness_and_relevancy() {
    for name in ["faithfulness", "relevancy"] {
        same_numbers(name, json!({"compat": "llamaindex"}), |readings| readings[YES]).await;
    }
}

#[tokio::test]
async fn correctness() {
    same_numbers("correctness", json!({"compat": "llamaindex"}), |readings| readings[CORRECTNESS]).await;
}

#[tokio::test]
async fn context_relevancy() {
    let quarter = |readings: &[Option<f64>]| readings[CONTEXT].map(|points| points / 4.0);
    same_numbers("context_relevancy", json!({"compat": "llamaindex"}), quarter).await;
}

#[tokio::test]
async fn answer_relevancy() {
    let half = |readings: &[Option<f64>]| readings[ANSWER].map(|points| points / 2.0);
    same_numbers("answer_relevancy", json!({"compat": "llamaindex"}), half).await;
}

#[tokio::test]
async fn pairwise() {
    let once = json!({"compat": "llamaindex", "order": "once"});
    same_numbers("pairwise", once, |readings| readings[PAIRWISE]).await;
    // The same letter in both orders is a preference for a place, or twice a tie.
    same_numbers("pairwise", json!({"compat": "llamaindex"}), |readings| readings[PAIRWISE].map(|_| 0.5)).await;
}

/// The table of `reading/compat.rs` has what pydantic makes of more replies.
#[tokio::test]
async fn guideline() {
    for (reply, expected) in [
        ("{\"passing\": true, \"feedback\": \"polite\"}", Some(1.0)),
        ("Here: {\"passing\": \"false\", \"feedback\": \"rude\"} so.", Some(0.0)),
        ("YES", None),
        ("{\"passing\": true}", None),
    ] {
        let settings = json!({"guideline": "Polite.", "compat": "llamaindex"});
        let transport = Loopback::default();
        let ready = judge("guideline", settings, always(reply));
        let asked = ask(&ready, &case("q", None), &answer("a", &[]), &transport).await;
        match (&asked.measurement, expected) {
            (Measurement::Value(reading), Some(wanted)) => assert_eq!(reading.value(), wanted, "{reply}"),
            (Measurement::Unusable(_), None) => {}
            other => panic!("{reply}: {other:?}"),
        }
    }
}

/// What LlamaIndex passes, and we do not.
#[tokio::test]
async fn strictly_read_a_yes_inside_a_word_is_none() {
    for reply in ["No. Yesterday's data differ", "NO, my eyes…"] {
        let (asked, _) = verdict("faithfulness", always(reply)).await;
        assert!(matches!(asked.measurement, Measurement::Unusable(_)), "{reply}: {asked:?}");
    }
    for (name, reply) in [("context_relevancy", "8"), ("answer_relevancy", "9"), ("context_relevancy", "x [RESULT] 3")]
    {
        let (asked, _) = verdict(name, always(reply)).await;
        assert!(matches!(asked.measurement, Measurement::Unusable(_)), "{reply}: {asked:?}");
    }
}

#[tokio::test]
async fn points_become_shares() {
    for (name, reply, expected) in [("context_relevancy", "3.5\nalmost", 0.875), ("answer_relevancy", "1\nhalf", 0.5)] {
        let (asked, sent) = verdict(name, always(reply)).await;
        assert_eq!((value(&asked).value(), value(&asked).passed), (expected, None), "{name}");
        let user = &sent[0][1].1;
        assert!(user.contains("the question = ") && user.contains("a number from 0 to "), "{user}");
    }
    // Nobody is asked about contexts that are not there.
    let transport = Loopback::default();
    let ready = judge("context_relevancy", json!({}), always("4"));
    let asked = ask(&ready, &case("q", None), &answer("a", &[]), &transport).await;
    assert_eq!((value(&asked).value(), asked.attempts), (0.0, 0));
}

/// Judges in both orders: A is what is shown first.
fn prefers(better: &'static str) -> Script {
    Arc::new(move |messages| {
        let user = &messages[1].1;
        let first = user.lines().find(|line| line.starts_with("answer A = ")).unwrap();
        Ok(if first.contains(better) { "A".to_owned() } else { "B".to_owned() })
    })
}

#[tokio::test]
async fn pairwise_asks_in_both_orders_and_the_place_does_not_win() {
    let settings = json!({"answers": {"path": "base.baseline.jsonl"}});
    let scored = async |script: Script, text: &str| {
        let transport = Loopback::default();
        let ready = judge("pairwise", settings.clone(), script);
        let mut case = case("q", None);
        case.id = "q001".into();
        let asked = ask(&ready, &case, &answer(text, &[]), &transport).await;
        (value(&asked).value(), value(&asked).passed, asked.attempts)
    };
    let other = "PEP 8 asks for 4 spaces per indentation level.";
    assert_eq!(scored(prefers("Four."), "Four.").await, (1.0, Some(true), 2));
    assert_eq!(scored(prefers(other), "Four.").await, (0.0, Some(false), 2));
    assert_eq!(scored(always("A"), "Four.").await, (0.5, Some(true), 2), "always the first place");
    assert_eq!(scored(always("A"), other).await, (0.5, Some(true), 0), "the same answer");
    let ready = judge("pairwise", settings, always("A"));
    let asked = ask(&ready, &case("q", None), &answer("x", &[]), &Loopback::default()).await;
    let Measurement::Error(failure) = &asked.measurement else { panic!("{asked:?}") };
    assert!(failure.kind == FailureKind::Missing && failure.message.contains("q1"), "{failure:?}");
}

#[test]
fn another_file_of_answers_is_another_yardstick() {
    let prompt = |path: &str| {
        let ready = judge("pairwise", json!({"answers": {"path": path}}), always("A"));
        ready.spec.fingerprint.unwrap().0["prompt"].clone()
    };
    assert_ne!(prompt("base.baseline.jsonl"), prompt("base-again.baseline.jsonl"));
    assert_ne!(prompt("base.baseline.jsonl"), prompt("../peps-rag/runs/base.jsonl"));
}
