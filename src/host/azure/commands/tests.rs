//! The lines, read back by the agent's rules.

use std::collections::BTreeMap;

use proptest::strategy::Strategy as _;

use super::*;

/// A command as the agent has it.
#[derive(Debug, PartialEq)]
pub(in crate::host) struct Command {
    pub(in crate::host) name: String,
    pub(in crate::host) properties: BTreeMap<String, String>,
    pub(in crate::host) data: String,
}

/// azure-pipelines-agent, `Command.TryParse`: the prefix anywhere in the line (here in any letter case, as later agents read it),
/// up to the first bracket; area and event; properties between semicolons, each unescaped; the rest is data.
pub(in crate::host) fn parse(line: &str) -> Option<Command> {
    const PREFIX: &str = "##vso[";
    let at = line.to_ascii_lowercase().find(PREFIX)?;
    let rest = &line[at + PREFIX.len()..];
    let (info, data) = rest.split_once(']')?;
    let (name, properties) = info.split_once(' ').unwrap_or((info, ""));
    if name.split('.').filter(|part| !part.is_empty()).count() != 2 {
        return None;
    }
    let unescape = |text: &str| {
        let mapped = [("%3B", ";"), ("%0D", "\r"), ("%0A", "\n"), ("%5D", "]"), ("%AZP25", "%")];
        mapped.iter().fold(text.to_owned(), |text, (from, to)| text.replace(from, to))
    };
    let properties = properties.split(';').filter_map(|pair| pair.split_once('='));
    let properties = properties.map(|(key, value)| (key.to_lowercase(), unescape(value))).collect();
    Some(Command { name: name.to_owned(), properties, data: unescape(data) })
}

fn annotation(level: AnnotationLevel, title: &str, message: &str) -> Annotation {
    Annotation {
        level,
        file: Some("data/a;b]c.jsonl".to_owned()),
        line: Some(7),
        title: title.to_owned(),
        message: message.to_owned(),
    }
}

#[test]
fn what_the_agent_reads_is_what_was_meant() {
    let text = "50% of a;b]c\r\nsecond %3B %0A %AZP25 line";
    let lines = issues(&[annotation(AnnotationLevel::Error, "case q1", text)]);
    let read = parse(&lines[0]).unwrap();
    assert_eq!(read.name, "task.logissue");
    assert_eq!(read.properties["sourcepath"], "data/a;b]c.jsonl");
    assert_eq!((&*read.properties["type"], &*read.properties["linenumber"]), ("error", "7"));
    assert_eq!(read.data, format!("case q1: {text}"));
}

#[test]
fn cm_annotations() {
    let mut all: Vec<_> =
        (0..300).map(|i| annotation(AnnotationLevel::Error, "case failed", &format!("case {i}"))).collect();
    all.extend((0..15).map(|_| annotation(AnnotationLevel::Warning, "w", "w")));
    let lines = issues(&all);
    let read: Vec<Command> = lines.iter().filter_map(|line| parse(line)).collect();
    let of = |kind: &str| read.iter().filter(|command| command.properties["type"] == kind).count();
    assert_eq!((of("error"), of("warning"), lines.len()), (10, 10, 21));
    assert!(read[0].data.ends_with("case 0") && read[9].data.ends_with("case 9"), "worst first: {lines:?}");
    assert_eq!(lines[20], "295 more in the report");
}

/// Of `must_not`: no variable, no path entry and no upload is made by a text, wherever it stands.
#[test]
fn lg_azure_commands() {
    let texts = std::fs::read_to_string("fixtures/cases/logs/azure-commands.txt").unwrap();
    for text in texts.lines().chain([texts.as_str(), "##vs\u{17f}o[a.b]c", "]##vso[task.complete result=Succeeded;]"]) {
        let issue = Annotation { file: Some(text.to_owned()), ..annotation(AnnotationLevel::Error, text, text) };
        let outputs = Outputs {
            verdict: Decision::Failed,
            exit_code: 1,
            regressions: 1,
            junit_path: Some(text.into()),
            summary_path: None,
        };
        let mut lines = issues(&[issue]);
        lines.extend(variables(&outputs, Some(text)));
        lines.extend(results(Path::new("junit.xml"), text));
        lines.push(summary(Path::new(text)));
        for line in lines {
            assert!(!line.contains(['\r', '\n']), "{line:?}");
            let read = parse(&line).unwrap();
            let ours = ["task.logissue", "task.setvariable", "results.publish", "task.uploadsummary"];
            assert!(line.starts_with("##vso[") && ours.contains(&&*read.name), "{line}");
            // What is left after the command's own prefix holds no other.
            let rest = &line["##vso[".len()..];
            assert!(parse(rest).is_none() && !rest.contains("##["), "{line}");
            assert!(!read.properties.contains_key("result"), "{line}");
        }
    }
}

#[test]
fn only_a_pass_is_passed() {
    let outputs =
        |verdict, exit_code| Outputs { verdict, exit_code, regressions: 0, junit_path: None, summary_path: None };
    for (verdict, code, passed) in [
        (Decision::Passed, 0, "true"),
        (Decision::Inconclusive, 0, "false"),
        (Decision::Failed, 1, "false"),
        (Decision::NotEvaluated, 3, "false"),
    ] {
        let lines = variables(&outputs(verdict, code), None);
        let read: Vec<Command> = lines.iter().map(|line| parse(line).unwrap()).collect();
        let names: Vec<&str> = read.iter().map(|command| &*command.properties["variable"]).collect();
        assert_eq!(names, VARIABLES);
        assert!(read.iter().all(|command| command.properties["isoutput"] == "true"));
        assert_eq!((&*read[0].data, &*read[1].data), (verdict.word(), passed));
    }
}

#[test]
fn paths_are_whole_and_one_file_stays_one() {
    let read = parse(&results(Path::new("out/junit.xml"), "a;b").unwrap()).unwrap();
    assert!(Path::new(&read.properties["resultfiles"]).is_absolute());
    assert_eq!((&*read.properties["type"], &*read.properties["runtitle"]), ("JUnit", "scoregate a;b"));
    assert_eq!(results(Path::new("a,b/junit.xml"), "x"), None);
}

proptest::proptest! {
    #![proptest_config(proptest::prelude::ProptestConfig { failure_persistence: None, ..Default::default() })]

    /// Any text, with the marks of commands in it, in every place of an issue: one command is read, with our properties alone.
    #[test]
    fn no_text_makes_a_command(parts in proptest::collection::vec(proptest::prop_oneof![
        ".{0,12}",
        proptest::sample::select(vec!["##vso[", "##VSO[", "##[", "##", "vso[", "]", ";", "=", "%", "%3B", "%5D", "%0A", "%AZP25", "\n", "\r\n",
            "task.complete result=Succeeded;", "\u{2028}", "\u{85}", "\u{17f}", "type=warning"]).prop_map(str::to_owned),
    ], 0..12)) {
        let text = parts.concat();
        let issue = Annotation { file: Some(text.clone()), ..annotation(AnnotationLevel::Error, &text, &text) };
        let lines = issues(&[issue]);
        proptest::prop_assert_eq!(lines.len(), 1);
        let line = &lines[0];
        let ends = line.contains(['\n', '\r', '\u{85}', '\u{2028}', '\u{2029}']);
        proptest::prop_assert!(!ends, "the line ends inside");
        let read = parse(line).unwrap();
        let names: Vec<&str> = read.properties.keys().map(String::as_str).collect();
        proptest::prop_assert_eq!(names, ["linenumber", "sourcepath", "type"]);
        proptest::prop_assert_eq!((&*read.properties["type"], &*read.properties["linenumber"]), ("error", "7"));
        let rest = &line["##vso[".len()..];
        proptest::prop_assert!(parse(rest).is_none() && !rest.contains("##["), "{}", rest);
        // What the agent shows holds no command either.
        proptest::prop_assert!(parse(&read.data).is_none() && !read.data.contains("##["), "{}", read.data);
    }
}
