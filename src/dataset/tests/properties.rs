//! What must hold for any data set.

use proptest::strategy::Strategy as _;
use serde_json::json;

use super::{cases, written};
use crate::dataset::*;

fn sampled(rows: &[usize], n: usize, seed: u64) -> Vec<String> {
    let content: String = rows.iter().map(|row| format!("{{\"id\":\"r{row}\",\"input\":\"q{row}\"}}\n")).collect();
    let (dataset, _folder) = written("a.jsonl", &content, json!({"sample": {"n": n, "seed": seed}})).unwrap();
    let mut ids: Vec<String> = cases(&dataset).into_iter().map(|case| case.id.to_string()).collect();
    ids.sort();
    ids
}

proptest::proptest! {
    #![proptest_config(proptest::prelude::ProptestConfig::with_cases(32))]

    #[test]
    fn shuffling_rows_changes_no_id_and_no_digest(order in proptest::prelude::Just((0..12_usize).collect::<Vec<_>>()).prop_shuffle()) {
        let rows = |order: &[usize]| order.iter().map(|row| format!("{{\"input\":\"q{row}\",\"reference\":\"{row}\"}}\n")).collect::<String>();
        let (sorted, _one) = written("a.jsonl", &rows(&(0..12).collect::<Vec<_>>()), json!({})).unwrap();
        let (shuffled, _two) = written("a.jsonl", &rows(&order), json!({})).unwrap();
        proptest::prop_assert_eq!(sorted.digest, shuffled.digest);
        let by_input = |dataset: &Dataset| {
            let mut pairs: Vec<_> = cases(dataset).into_iter().map(|case| (case.input, case.id)).collect();
            pairs.sort();
            pairs
        };
        proptest::prop_assert_eq!(by_input(&sorted), by_input(&shuffled));
    }

    #[test]
    fn a_sample_is_stable_under_reordering_and_added_rows(order in proptest::prelude::Just((0..40_usize).collect::<Vec<_>>()).prop_shuffle(), seed in 0..4_u64) {
        let sorted: Vec<usize> = (0..40).collect();
        let chosen = sampled(&sorted, 10, seed);
        proptest::prop_assert_eq!(&chosen, &sampled(&order, 10, seed));
        let more: Vec<usize> = (0..42).collect();
        let kept = sampled(&more, 10, seed).iter().filter(|id| chosen.contains(id)).count();
        proptest::prop_assert!(kept >= 8, "two more rows replace at most two of ten");
    }
}

#[test]
fn problems_of_a_real_suite_have_their_place() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("a.csv"), "id,question,lang\n1,a,zh\n2,b\n").unwrap();
    std::fs::write(folder.path().join("b.jsonl"), "{\"question\":\"a\"}\n").unwrap();
    let suite = "version: 1\nname: test\ndataset:\n  - path: a.csv\n    where: lang = 'zh'\n  - path: [b.jsonl, c.jsonl]\n    fields: { inptu: question }\n  - path: d*.jsonl\n  - path: b.jsonl\n    fields: { reference: gold }\ntargets:\n  app: { recorded: {} }\nevaluators:\n  equals: {}\n";
    let path = folder.path().join("scoregate.yaml");
    std::fs::write(&path, suite).unwrap();
    let suite = crate::suite::load(&path, &crate::domain::Env::default()).unwrap();
    let text = crate::diagnostic::render(&Dataset::open(&suite).err().unwrap());
    for part in [
        "scoregate.yaml:5:",
        "write `==`",
        "unknown key `inptu`",
        "`d*.jsonl` matches no file",
        "b.jsonl:1:1",
        "no `gold` here",
    ] {
        assert!(text.contains(part), "{part}: {text}");
    }
    assert!(text.contains("1 | {\"question\":\"a\"}\n  | ^"), "the row is shown: {text}");
}
