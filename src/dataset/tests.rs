//! The data sets of `fixtures/cases`, and what must hold for any.

mod properties;

use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use super::*;
use crate::domain::Case;
use crate::rows::support::suite_in;
use crate::suite::Block;

fn fixtures() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures")
}

fn open_all(root: &Path, entries: &[Value]) -> Result<Dataset, Diagnostics> {
    let mut suite = suite_in(root);
    suite.dataset = entries.iter().map(|entry| Block::from_value("0", "0", entry.clone())).collect();
    Dataset::open(&suite)
}

fn open_case(settings: Value) -> Result<Dataset, Diagnostics> {
    open_all(&fixtures().join("cases"), &[settings])
}

pub(super) fn cases(dataset: &Dataset) -> Vec<Case> {
    let cases: Vec<Case> = dataset.cases().map(|case| case.unwrap()).collect();
    assert_eq!(cases.len(), dataset.len);
    for (index, case) in cases.iter().enumerate() {
        assert_eq!(case.index, index);
    }
    cases
}

fn read(settings: Value) -> Vec<Case> {
    cases(&open_case(settings).unwrap_or_else(|problems| panic!("{}", words(&problems))))
}

fn words(problems: &Diagnostics) -> String {
    let mut text = String::new();
    for problem in problems.iter() {
        let place =
            problem.source.as_ref().zip(problem.span).map(|(source, span)| format!("{}:{}: ", source.path, span.line));
        text += &format!(
            "{}{} [{}]\n",
            place.unwrap_or_default(),
            problem.message,
            problem.help.as_deref().unwrap_or_default()
        );
    }
    text
}

fn refused(settings: Value) -> String {
    match open_case(settings) {
        Ok(dataset) => panic!("{} cases", dataset.len),
        Err(problems) => {
            assert!(problems.has_errors());
            words(&problems)
        }
    }
}

/// A data set of one file in a folder of its own.
pub(super) fn written(name: &str, content: &str, settings: Value) -> Result<(Dataset, tempfile::TempDir), Diagnostics> {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join(name), content).unwrap();
    let mut entry = json!({"path": name});
    if let (Value::Object(entry), Value::Object(settings)) = (&mut entry, settings) {
        entry.extend(settings);
    }
    open_all(folder.path(), &[entry]).map(|dataset| (dataset, folder))
}

fn refused_text(name: &str, content: &str, settings: Value) -> String {
    match written(name, content, settings) {
        Ok((dataset, _)) => panic!("{} cases", dataset.len),
        Err(problems) => words(&problems),
    }
}

#[test]
fn ds_bom_csv() {
    let cases = read(json!({"path": "datasets/bom-excel.csv"}));
    assert_eq!(cases.iter().map(|case| &*case.id).collect::<Vec<_>>(), ["q1", "q2", "q3"]);
    assert_eq!(cases[0].reference.as_deref(), Some("blue"));
    assert_eq!(cases[2].input, "Name a prime, below ten");
    assert!(cases.iter().all(|case| case.metadata.is_empty()));
}

#[test]
fn ds_bom_jsonl() {
    let cases = read(json!({"path": "datasets/bom.jsonl"}));
    assert_eq!(cases.iter().map(|case| &*case.id).collect::<Vec<_>>(), ["a1", "a2"]);
}

#[test]
fn ds_utf16_csv() {
    let wide = read(json!({"path": "datasets/utf16le.csv"}));
    let twin = read(json!({"path": "datasets/utf16le.expected-utf8.csv"}));
    assert_eq!(wide.len(), 2);
    for (wide, twin) in wide.iter().zip(&twin) {
        assert_eq!(
            (&wide.id, &wide.input, &wide.reference, wide.content),
            (&twin.id, &twin.input, &twin.reference, twin.content)
        );
    }
}

#[test]
fn ds_cp1252_csv() {
    let text = refused(json!({"path": "datasets/cp1252.csv"}));
    for part in ["datasets/cp1252.csv:2", "line 2", "byte offset 33", "encoding: windows-1252"] {
        assert!(text.contains(part), "{part}: {text}");
    }
    let cases = read(json!({"path": "datasets/cp1252.csv", "encoding": "windows-1252"}));
    assert_eq!(cases[0].input, "Is this “quoted” – or not?");
}

#[test]
fn ds_gbk_csv() {
    let text = refused(json!({"path": "datasets/gbk.csv"}));
    for part in ["datasets/gbk.csv:2", "line 2", "byte offset 27", "encoding: gbk"] {
        assert!(text.contains(part), "{part}: {text}");
    }
    let cases = read(json!({"path": "datasets/gbk.csv", "encoding": "gbk"}));
    assert_eq!(cases[0].input, "苹果是什么颜色？");
    assert_eq!(cases[0].reference.as_deref(), Some("红色"));
}

#[test]
fn ds_jsonl_bad_lines() {
    let text = refused(json!({"path": "datasets/bad-lines.jsonl"}));
    assert!(text.contains("bad-lines.jsonl:5: not JSON: trailing comma"), "{text}");
    assert!(text.contains("bad-lines.jsonl:7: this record is a list"), "{text}");
    assert!(!text.contains("three") && !text.contains("four"), "{text}");
}

#[test]
fn ds_jsonl_blank_ok() {
    let cases = read(json!({"path": "datasets/blank-lines.jsonl"}));
    assert_eq!(cases.iter().map(|case| &*case.id).collect::<Vec<_>>(), ["b1", "b2", "b3", "b4"]);
    assert_eq!(cases[2].input, "one\u{2028}two\u{85}three");
    assert_eq!(cases.iter().map(|case| case.place.line).collect::<Vec<_>>(), [2, 4, 7, 8]);
}

#[test]
fn ds_list_items_with_delimiter() {
    let cases = read(json!({"path": "datasets/contexts.jsonl"}));
    let texts: Vec<_> = cases[0].contexts.iter().map(|context| context.text.as_str()).collect();
    assert_eq!(texts, ["| sku | stock |\n|:--|--:|\n| B-7 | 12 |", "sort stock.txt | uniq -c; date"]);
    let cases = read(json!({"path": "datasets/contexts.csv"}));
    let texts: Vec<_> = cases[0].contexts.iter().map(|context| context.text.as_str()).collect();
    assert_eq!(texts, ["| sku | stock |\n| B-7 | 12 |"]);
    let cut = read(json!({"path": "datasets/contexts.csv", "lists": {"contexts": "\\n"}}));
    assert_eq!(cut[0].contexts.len(), 2);
}

#[test]
fn ds_csv_json_array_cell() {
    let text = refused(json!({"path": "datasets/json-array-cell.csv", "lists": {"contexts": "json"}}));
    assert!(text.contains("json-array-cell.csv:3: record 2: `contexts` is declared a JSON list"), "{text}");
    assert!(!text.contains("record 1"), "{text}");
    let undeclared = refused(json!({"path": "datasets/json-array-cell.csv"}));
    assert!(undeclared.contains("lists: { contexts: json }"), "{undeclared}");
    let good = "id,input,contexts\r\nj1,q,\"[\"\"alpha, one\"\",\"\"beta\"\"]\"\r\n";
    let (dataset, _folder) = written("a.csv", good, json!({"lists": "json"})).unwrap();
    let texts: Vec<_> = cases(&dataset)[0].contexts.iter().map(|context| context.text.clone()).collect();
    assert_eq!(texts, ["alpha, one", "beta"]);
}

#[test]
fn ds_id_number_vs_text() {
    let text = refused(json!({"path": "datasets/id-number-text.jsonl"}));
    assert!(text.contains("the id `1` stands at datasets/id-number-text.jsonl:1 and datasets/id-number-text.jsonl:2 and datasets/id-number-text.jsonl:3"), "{text}");
}

#[test]
fn ds_duplicate_ids() {
    let text = refused(json!({"path": "datasets/duplicate-ids.csv"}));
    assert!(
        text.contains("the id `x1` stands at datasets/duplicate-ids.csv:2 and datasets/duplicate-ids.csv:4"),
        "{text}"
    );
}

#[test]
fn ds_csv_quoted_newlines() {
    let cases = read(json!({"path": "datasets/quoted-newlines.csv"}));
    let inputs: Vec<_> = cases.iter().map(|case| case.input.as_str()).collect();
    assert_eq!(inputs, ["line one\nline two", "line one\r\nline two", "old\rmac", "she said \"no\", twice"]);
    assert_eq!(cases.iter().map(|case| case.place.line).collect::<Vec<_>>(), [2, 4, 6, 7]);
}

#[test]
fn ds_template_chars() {
    let inputs: Vec<String> =
        read(json!({"path": "datasets/template-chars.jsonl"})).into_iter().map(|case| case.input).collect();
    assert_eq!(
        inputs,
        [
            "Say {{id}} exactly",
            "${HOME} and $PATH",
            "$(whoami) `id` ; rm -rf ./nothing",
            "{% raw %}{{ secret }}{% endraw %}",
            "100% of %s and {0}"
        ]
    );
}

#[test]
fn ds_nonfinite_scores() {
    let text = refused(json!({"path": "datasets/nonfinite.jsonl", "fields": {"input": "output", "answer": "output"}}));
    for (line, word) in [(2, "NaN"), (3, "Infinity"), (4, "-Infinity"), (5, "out of range")] {
        assert!(
            text.lines().any(|found| found.contains(&format!("nonfinite.jsonl:{line}:")) && found.contains(word)),
            "{line}: {text}"
        );
    }
}

#[test]
fn ds_path_references() {
    for reference in include_str!("../../fixtures/cases/datasets/path-references.txt").lines().skip(2) {
        let text = refused(json!({"path": reference}));
        assert!(text.contains(reference), "{text}");
    }
}

/// The full size runs with the binary; here the argument for constant memory: a case costs a bit and four bytes after the check.
#[test]
fn ds_large_generated() {
    use std::fmt::Write as _;
    const ROWS: usize = 2_000;
    let mut content = String::new();
    for row in 1..=ROWS {
        let text = format!("{row:08}").repeat(256);
        let output = if row % 1_000 == 0 { "0".repeat(2_048) } else { text.clone() };
        writeln!(content, r#"{{"id":"row-{row:06}","input":"{text}","output":"{output}","expected":"{text}"}}"#)
            .unwrap();
    }
    let (dataset, _folder) = written("large.jsonl", &content, json!({})).unwrap();
    assert_eq!(dataset.len, ROWS);
    let kept: usize = dataset.entries.iter().flat_map(|entry| &entry.files).map(OpenedFileSize::bytes).sum();
    assert!(kept <= ROWS * 8 + ROWS / 4, "{kept} bytes for {ROWS} cases");
    let mut differing = 0;
    for case in dataset.cases() {
        let case = case.unwrap();
        differing += usize::from(case.recorded.map(|answer| answer.text) != case.reference);
    }
    assert_eq!(differing, ROWS / 1_000);
}

trait OpenedFileSize {
    fn bytes(&self) -> usize;
}

impl OpenedFileSize for entry::OpenedFile {
    fn bytes(&self) -> usize {
        self.checksums.capacity() * 4 + self.records as usize / 8 + 8
    }
}

#[test]
fn vd_zero_cases() {
    for (path, part) in [
        ("verdicts/empty.jsonl", "empty.jsonl"),
        ("verdicts/header-only.csv", "header-only.csv"),
        ("verdicts/blank-only.jsonl", "blank-only.jsonl"),
        ("verdicts/*.tsv", "`verdicts/*.tsv` matches no file"),
    ] {
        let text = refused(json!({"path": path}));
        assert!(text.contains(part), "{text}");
    }
    let text = refused(json!({"path": "datasets/bom.jsonl", "where": "input == 'other'"}));
    assert!(text.contains("`input == 'other'` holds for none of the 2 rows of datasets/bom.jsonl"), "{text}");
    assert!(words(&open_all(&fixtures(), &[]).err().unwrap()).contains("no data set"));
}

#[test]
fn vd_odd_outputs() {
    let cases = read(json!({"path": "verdicts/odd-outputs.jsonl", "fields": {"input": "id", "id": "id"}}));
    let answers: Vec<_> = cases.iter().map(|case| case.recorded.as_ref().map(|answer| answer.text.as_str())).collect();
    assert_eq!(
        answers,
        [
            Some("ordinary answer"),
            Some(""),
            None,
            Some("  \n "),
            Some("🚀🚀"),
            Some("\0\u{1b}[31m\u{7}"),
            Some("ordinary answer")
        ]
    );
}

#[test]
fn yaml_implicit_types() {
    let content = "- {id: 1.10, input: NO, expected: 010, tags: [off, 1e3, 12:30:45]}\n- {id: 2024-05-01, input: y, expected: 1_000}\n";
    let (dataset, _folder) = written("a.yaml", content, json!({})).unwrap();
    let cases = cases(&dataset);
    assert_eq!((&*cases[0].id, cases[0].input.as_str(), cases[0].reference.as_deref()), ("1.10", "NO", Some("010")));
    assert_eq!(cases[0].tags.iter().map(|tag| &**tag).collect::<Vec<_>>(), ["off", "1e3", "12:30:45"]);
    assert_eq!((&*cases[1].id, cases[1].reference.as_deref()), ("2024-05-01", Some("1_000")));
    let text = refused_text("a.yaml", "- input: a\n- input: ~\n", json!({}));
    assert!(text.contains("a.yaml:2"), "{text}");
}

#[test]
fn jsonl_and_csv_of_the_quickstart_give_the_same_cases() {
    let root = fixtures().join("peps-rag");
    let from_jsonl = cases(&open_all(&root, &[json!({"path": "questions.jsonl"})]).unwrap());
    let lists = json!({"tags": ",", "expected_contexts": ";"});
    let from_csv = cases(&open_all(&root, &[json!({"path": "questions.csv", "lists": lists})]).unwrap());
    assert_eq!((from_jsonl.len(), from_csv.len()), (140, 140));
    for (left, right) in from_jsonl.iter().zip(&from_csv) {
        assert_eq!(
            (&left.id, &left.input, &left.reference, &left.tags),
            (&right.id, &right.input, &right.reference, &right.tags)
        );
        assert_eq!((&left.expected_contexts, left.content), (&right.expected_contexts, right.content), "{}", left.id);
        assert_eq!(left.metadata["lang"], right.metadata["lang"]);
    }
    let labelled = open_all(&root, &[json!({"path": "labelled-rag-dataset.json"})]).unwrap();
    assert_eq!(labelled.len, 140);
    assert!(cases(&labelled)[0].expected_contexts[0].text.as_deref().unwrap().contains("Use 4 spaces"));
    let chinese =
        json!({"path": "questions.jsonl", "where": "lang == 'zh' and tags contains 'hard' or 'critical' in tags"});
    let chosen = open_all(&root, &[chinese]).unwrap();
    assert!(chosen.filtered && chosen.len > 10 && chosen.len < 30);
    let by_path = json!({"path": "questions.jsonl", "fields": {"contexts": "$.evidence[*].quote", "expected_contexts": "expected_chunk_ids_c160", "tags": ["topic", "difficulty"]}});
    let by_path = cases(&open_all(&root, &[by_path]).unwrap());
    assert_eq!(by_path[0].contexts[0].text, "Use 4 spaces per indentation level.");
    assert_eq!(by_path[0].expected_contexts[0].id.as_deref(), Some("pep-0008.c160.021"));
    assert_eq!(by_path[0].tags.iter().map(|tag| &**tag).collect::<Vec<_>>(), ["style", "easy"]);
}

#[test]
fn ids_come_from_the_content_where_none_is_given() {
    let (one, _folder) =
        written("a.jsonl", "{\"input\":\"a\"}\n{\"input\":\"b\",\"reference\":\"x\"}\n", json!({})).unwrap();
    let (two, _other) =
        written("b.yaml", "- input: new\n- {reference: x, input: b, extra: 1}\n- input: a\n", json!({})).unwrap();
    let ids = |dataset: &Dataset| cases(dataset).into_iter().map(|case| case.id.to_string()).collect::<Vec<_>>();
    let (one, two) = (ids(&one), ids(&two));
    assert_eq!((&one[0], &one[1]), (&two[2], &two[1]));
    assert!(one[0].starts_with("c-") && one[0].len() == 14, "{}", one[0]);
    let text = refused_text("a.jsonl", "{\"input\":\"a\"}\n\n{\"input\":\"b\"}\n{\"input\":\"a\"}\n", json!({}));
    assert!(text.contains("without an id, stands at a.jsonl:1 and a.jsonl:4"), "{text}");
}

#[test]
fn settings_that_cannot_work_are_refused() {
    let row = "{\"id\":1,\"input\":\"a\",\"n\":1}\n";
    for (settings, part) in [
        (json!({"fields": {"input": "$.a["}}), "no JSONPath"),
        (json!({"where": "n = 1"}), "write `==`"),
        (json!({"where": "m == 1"}), "the name `m`"),
        (json!({"where": "input > 1"}), "a.jsonl:1: record 1: the condition fails"),
        (json!({"fields": {"reference": "gold"}}), "no `gold` here"),
        (json!({"fields": {"contexts": "$.gold[*]"}}), "no row of a.jsonl has `$.gold[*]`"),
        (json!({"encoding": "latin-17"}), "no encoding"),
        (json!({"delimiter": "ab"}), "one ASCII character"),
        (json!({"lists": {"input": ";"}}), "no list field"),
        (json!({"sample": {"n": 0}}), ""),
        (json!({"smaple": {"n": 1}}), "smaple"),
        (json!({"path": []}), "empty"),
        (json!({"path": ["a.jsonl", "b.jsonl"]}), "`b.jsonl` does not exist"),
        (json!({"format": "csv"}), ""),
    ] {
        let text = refused_text("a.jsonl", row, settings.clone());
        assert!(text.contains(part), "{settings}: {text}");
    }
    let text = refused_text("a.csv", "id,question,god\n1,a,b\n2,b,c\n", json!({"fields": {"reference": "gold"}}));
    assert_eq!(text.lines().count(), 1, "{text}");
    assert!(
        text.contains("no column `gold`")
            && text.contains("did you mean `god`? the columns are `id`, `question`, `god`"),
        "{text}"
    );
    let text = refused_text("a.txt", row, json!({}));
    assert!(text.contains("set `format`"), "{text}");
}

#[test]
fn rows_that_are_no_case_are_refused_with_their_place() {
    for (row, part) in [
        ("{\"id\":1}", "there is no input (the row has `id`)"),
        ("{\"input\":\" \"}", "the input is empty"),
        ("{\"input\":[\"a\"]}", "`input` is a list"),
        ("{\"input\":\"a\",\"question\":\"b\"}", "`input` and `question` could each be the input"),
        ("{\"id\":\" \",\"input\":\"a\"}", "the id is empty"),
        ("{\"input\":\"a\",\"tags\":[null]}", "item 1 of `tags` is null"),
        ("{\"input\":\"a\",\"expected_ids\":[{\"id\":\"x\",\"gain\":-1}]}", "a gain"),
    ] {
        let text = refused_text("a.jsonl", &format!("{{\"input\":\"fine\"}}\n{row}\n"), json!({}));
        assert!(text.contains("a.jsonl:2: record 2: ") && text.contains(part), "{row}: {text}");
    }
    let many: String = (0..50).map(|row| format!("{{\"id\":{row}}}\n")).collect();
    let text = refused_text("a.jsonl", &many, json!({}));
    assert_eq!(text.lines().count(), 21);
    assert!(text.contains("and 30 more problems"), "{text}");
}

#[test]
fn questionable_data_is_a_warning() {
    let content = "{\"id\":1,\"input\":\"What is it?\",\"expected\":\"a\"}\n{\"id\":2,\"input\":\"what  IS it?\"}\n{\"id\":3,\"input\":\"b\",\"expected_contexts\":[\"this is a whole passage\"]}\n";
    let (dataset, _folder) = written("a.jsonl", content, json!({"sample": {"n": 9}})).unwrap();
    let text = words(&dataset.warnings);
    for part in [
        "1 question is asked more than once: a.jsonl:1 and a.jsonl:2",
        "2 of 3 cases of a.jsonl have no reference",
        "look like passages",
        "sample of 9",
    ] {
        assert!(text.contains(part), "{part}: {text}");
    }
    assert!(!dataset.warnings.has_errors());
}

#[test]
fn entries_may_share_a_file_but_not_a_case() {
    let folder = tempfile::tempdir().unwrap();
    let content: String =
        (0..10).map(|row| format!("{{\"id\":{row},\"input\":\"q{row}\",\"even\":{}}}\n", row % 2 == 0)).collect();
    std::fs::write(folder.path().join("a.jsonl"), content).unwrap();
    let part = |condition: &str| json!({"path": "a.jsonl", "where": condition});
    let dataset = open_all(folder.path(), &[part("even"), part("not even")]).unwrap();
    assert_eq!(dataset.len, 10);
    cases(&dataset);
    let text = words(&open_all(folder.path(), &[part("even"), part("id == '4'")]).err().unwrap());
    assert!(text.contains("the id `4` stands at a.jsonl:5 and a.jsonl:5"), "{text}");
}

#[test]
fn a_file_that_changes_after_the_check_is_an_error() {
    let rows = "{\"id\":1,\"input\":\"a\"}\n{\"id\":2,\"input\":\"b\"}\n";
    for changed in [
        rows.replace("\"b\"", "\"c\""),
        rows.replace("{\"id\":2,\"input\":\"b\"}\n", ""),
        format!("{rows}{{\"id\":3,\"input\":\"c\"}}\n"),
    ] {
        let (dataset, folder) = written("a.jsonl", rows, json!({})).unwrap();
        std::fs::write(folder.path().join("a.jsonl"), changed).unwrap();
        let last = dataset.cases().last().unwrap();
        assert!(words(&last.err().unwrap()).contains("changed after it had been checked"));
    }
}

#[test]
fn graded_and_given_contexts_are_read() {
    let content = "{\"id\":1,\"input\":\"a\",\"expected_contexts\":[{\"id\":\"x\",\"gain\":2},{\"id\":\"y\",\"gain\":0},\"z\"],\"reference_contexts\":[\"some text\"],\"contexts\":[{\"id\":\"k\",\"text\":\"t\"}],\"output\":\"o\",\"latency_ms\":5}\n";
    let (dataset, _folder) = written("a.jsonl", content, json!({})).unwrap();
    let case = cases(&dataset).remove(0);
    let expected: Vec<_> = case
        .expected_contexts
        .iter()
        .map(|context| (context.id.as_deref(), context.text.as_deref(), context.gain))
        .collect();
    assert_eq!(expected, [(Some("x"), None, 2.0), (Some("z"), None, 1.0), (None, Some("some text"), 1.0)]);
    let answer = case.recorded.unwrap();
    assert_eq!(
        (answer.text.as_str(), answer.contexts, answer.latency),
        ("o", case.contexts, Some(std::time::Duration::from_millis(5)))
    );
}

#[test]
fn the_schema_names_every_setting() {
    let text = serde_json::to_string(&schema()).unwrap();
    for name in ["\"where\"", "\"sample\"", "\"expected_contexts\"", "\"lists\""] {
        assert!(text.contains(name), "{name}");
    }
}
