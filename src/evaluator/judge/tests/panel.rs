//! Panels, rubrics, and what is refused.

use serde_json::{Value, json};

use super::*;

fn panel(name: &str, settings: Value, scripts: [Script; 3]) -> Result<Ready, Vec<String>> {
    let [a, b, c] = scripts;
    let named = |name: &str, script| Model { name: name.into(), ..judge_model(script) };
    let models = models([("a", named("a", a)), ("b", named("b", b)), ("c", named("c", c))]);
    let kind = kinds().find(|kind| kind.info.name == name).unwrap();
    let mut diagnostics = Diagnostics::default();
    (kind.build)(&block(name, settings), &context_of(&models), &mut diagnostics)
        .ok_or_else(|| diagnostics.iter().map(|found| format!("{}: {}", found.code, found.message)).collect())
}

async fn scored(ready: &Ready) -> Asked {
    let case = case("Capital of Australia?", Some("Canberra"));
    ask(ready, &case, &answer("Sydney.", &["Canberra is the capital."]), &Loopback::default()).await
}

const ALL: [&str; 3] = ["a", "b", "c"];

#[tokio::test]
async fn a_majority_decides_and_disagreement_is_told() {
    let ready = panel("faithfulness", json!({"model": ALL}), [always("YES"), always("NO"), always("YES")]).unwrap();
    let asked = scored(&ready).await;
    assert_eq!((value(&asked).value(), value(&asked).passed, asked.attempts), (1.0, Some(true), 3));
    assert_eq!(value(&asked).flags, [Arc::from(crate::evaluator::JUDGES_DISAGREE)]);
    assert_eq!(value(&asked).reason.as_deref(), Some("the judges disagree: a 1, b 0, c 1"));
    assert_eq!(asked.spent.usage.prompt_tokens, 30);
    let ready = panel("faithfulness", json!({"model": ALL}), [always("NO"), always("NO"), always("NO")]).unwrap();
    let asked = scored(&ready).await;
    assert_eq!((value(&asked).value(), value(&asked).flags.len()), (0.0, 0));
}

#[tokio::test]
async fn grades_have_a_mean_or_a_median() {
    for (settings, expected) in [(json!({"model": ALL}), 3.0), (json!({"model": ALL, "combine": "median"}), 2.0)] {
        let ready = panel("correctness", settings, [always("2\nx"), always("2\nx"), always("5\nx")]).unwrap();
        assert_eq!(value(&scored(&ready).await).value(), expected);
    }
    let settings = json!({"model": ALL, "combine": "mean"});
    let ready = panel("faithfulness", settings, [always("YES"), always("NO"), always("NO")]).unwrap();
    assert_eq!((ready.spec.kind, ready.spec.pass_mark), (crate::domain::ScoreKind::UNIT, Some(2.0 / 3.0)));
    let asked = scored(&ready).await;
    assert!((value(&asked).value() - 1.0 / 3.0).abs() < 1e-12 && value(&asked).passed == Some(false));
}

#[tokio::test]
async fn a_tie_is_no_pass_and_more_than_half_is() {
    for combine in ["mean", "median"] {
        for (models, said, passed) in [
            (vec!["a", "b"], ["YES", "NO", ""], false),
            (vec!["a", "b"], ["YES", "YES", ""], true),
            (vec!["a", "b", "c"], ["YES", "NO", "YES"], true),
            (vec!["a", "b", "c"], ["YES", "NO", "NO"], false),
        ] {
            let settings = json!({"model": models, "combine": combine});
            let ready = panel("faithfulness", settings, said.map(always)).unwrap();
            assert_eq!(value(&scored(&ready).await).passed, Some(passed), "{combine} {said:?}");
        }
    }
    // Who asks for half gets half.
    let settings = json!({"model": ["a", "b"], "combine": "mean", "threshold": 0.5});
    let ready = panel("faithfulness", settings, ["YES", "NO", ""].map(always)).unwrap();
    assert_eq!(value(&scored(&ready).await).passed, Some(true));
}

#[tokio::test]
async fn a_member_that_fails_is_an_error_and_not_a_vote() {
    let ready =
        panel("faithfulness", json!({"model": ALL}), [always("YES"), always("YES"), always("perhaps")]).unwrap();
    let asked = scored(&ready).await;
    assert!(unusable(&asked).message.starts_with("judge `c` of the panel: "), "{asked:?}");
    assert_eq!((asked.attempts, asked.repairs), (4, 1));
}

#[test]
fn a_fingerprint_names_every_member() {
    let scripts = || [always("YES"), always("YES"), always("YES")];
    let ready = panel("faithfulness", json!({"model": ALL}), scripts()).unwrap();
    let parts = ready.spec.fingerprint.unwrap().0;
    assert_eq!(parts["model"], "[\"scripted\",\"scripted\",\"scripted\"]");
    assert_eq!(parts["combine"], "majority");
}

#[test]
fn panels_that_could_not_decide_are_refused() {
    for (name, settings, code) in [
        ("faithfulness", json!({"model": ["a", "b"]}), "conflict"),
        ("faithfulness", json!({"model": ["a", "b", "a"]}), "conflict"),
        ("faithfulness", json!({"model": ["a", "b", "x"]}), "unknown-model"),
        ("faithfulness", json!({"model": "a", "combine": "mean"}), "conflict"),
        ("correctness", json!({"model": ALL, "combine": "majority"}), "conflict"),
        ("correctness", json!({"model": ALL, "threshold": 6}), "threshold-out-of-range"),
        ("guideline", json!({"model": "a", "guideline": " "}), "empty-text"),
        ("rubric", json!({"model": "a", "rubric": "x", "scale": [5, 1]}), "empty-range"),
        ("rubric", json!({"model": "a", "rubric": "x", "examples": [{"answer": "y", "score": 4}]}), "out-of-range"),
        ("factuality", json!({"model": "a", "scores": {"same": 2}}), "out-of-range"),
        ("answer_correctness", json!({"model": "a"}), "missing-key"),
        ("answer_correctness", json!({"model": "a", "embedding": "embd"}), "unknown-model"),
        ("factual_correctness", json!({"model": "a", "beta": 0}), "out-of-range"),
        ("noise_sensitivity", json!({"model": "a", "threshold": 1}), "threshold-out-of-range"),
        ("context_relevancy", json!({"model": "a", "prompt": "{{ input }}"}), "missing-placeholder"),
        ("pairwise", json!({"model": "a", "answers": {"path": "nowhere.jsonl"}}), "path"),
        ("pairwise", json!({"model": "a", "answers": {"path": "base.baseline.jsonl", "target": "other"}}), "answers"),
    ] {
        let problems = panel(name, settings.clone(), [always(""), always(""), always("")]).err();
        let problems = problems.unwrap_or_else(|| panic!("{name} took {settings}"));
        assert!(
            problems.iter().any(|problem| problem.starts_with(&format!("{code}: "))),
            "{name} {settings}: {problems:?}"
        );
    }
}

#[tokio::test]
async fn a_rubric_has_a_scale_and_examples_as_data() {
    let settings = json!({"rubric": "Kind {{ answer }}.", "scale": [0, 3], "show": ["input", "contexts", "reference"],
        "examples": [{"answer": "a\n\"b\"", "score": 3, "reason": "it is kind"}], "threshold": 2});
    let transport = Loopback::default();
    let ready = judge("rubric", settings, always("2\nkind"));
    let asked = ask(&ready, &case("q", Some("r")), &answer("a", &["c"]), &transport).await;
    assert_eq!((value(&asked).value(), value(&asked).passed), (2.0, Some(true)));
    let user = &transport.sent.into_inner().unwrap()[0][1].1;
    for part in [
        "Kind {{ answer }}.",
        "its answer = \"a\\n\\\"b\\\"\"\nits grade: 3, because it is kind",
        "a number from 0 to 3",
        "context 1 = \"c\"",
        "the reference answer = \"r\"",
    ] {
        assert!(user.contains(part), "{part}: {user}");
    }
    let (asked, _) = {
        let transport = Loopback::default();
        let ready = judge("rubric", json!({"rubric": "Kind."}), always("It is.\nYES"));
        (ask(&ready, &case("q", None), &answer("a", &[]), &transport).await, ())
    };
    assert_eq!((value(&asked).value(), value(&asked).passed), (1.0, Some(true)));
}

#[tokio::test]
async fn factuality_scores_its_letters() {
    for (reply, expected) in
        [("A", 1.0), ("fits\n\n**B**", 1.0), ("VERDICT: C", 1.0), ("D.", 0.0), ("{\"verdict\": \"E\"}", 1.0)]
    {
        let (asked, sent) = verdict("factuality", always(reply)).await;
        assert_eq!((value(&asked).value(), value(&asked).passed), (expected, Some(expected == 1.0)), "{reply}");
        assert_eq!(sent.len(), 1);
    }
    for reply in ["F", "A or B", "{\"pass\": true}", "{\"verdict\": \"C\"}\nB", "A is the answer"] {
        let (asked, _) = verdict("factuality", always(reply)).await;
        assert!(matches!(asked.measurement, Measurement::Unusable(_)), "{reply}: {asked:?}");
    }
    // A letter that stands in the answer on a line of its own may be copied: it is asked for with a code.
    let script: Script = Arc::new(|messages| {
        Ok(match messages.last().unwrap().1.split_once("begin with the code ") {
            Some((_, rest)) => format!("{}: D", rest.split(',').next().unwrap()),
            None => "A".to_owned(),
        })
    });
    let transport = Loopback::default();
    let asked =
        ask(&judge("factuality", json!({}), script), &case("q", Some("r")), &answer("x\nA", &[]), &transport).await;
    assert_eq!((value(&asked).value(), value(&asked).repaired), (0.0, true));
}
