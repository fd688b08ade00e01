//! In a pull request the base branch decides: real repositories, real clones, the real binary.

use std::time::Duration;

use serde_json::{Value, json};

use crate::chat_server::{ChatServer, completion};
use crate::command::{check, checked, command, folder, git, report, verdict};
use crate::proposal::{COMPARED, Proposal, SUITE, job, rows, suite};

/// The changes of `verdict.json`: (what, loosens).
fn changes(folder: &std::path::Path) -> Vec<(String, bool)> {
    let base = verdict(folder)["base"].clone();
    let list = base["changes"].as_array().cloned().unwrap_or_default();
    list.iter().map(|one| (one["what"].as_str().expect("what").to_owned(), one["loosens"] == true)).collect()
}

fn by(folder: &std::path::Path) -> String {
    verdict(folder)["base"]["by"].as_str().unwrap_or("nobody").to_owned()
}

#[test]
fn an_honest_change_is_judged_by_the_base_and_passes() {
    let world = Proposal::usual();
    let pull = world.propose(|world| world.write("README", "better words"));
    let clone = world.checkout("ci", "refs/pull/1/merge");
    let said = checked(&pull.judged(&clone, &[]), 0);
    assert_eq!((by(&clone).as_str(), changes(&clone)), ("base", Vec::new()), "{said}");
    assert_eq!(verdict(&clone)["base"]["commit"], pull.base.as_str());
    assert!(said.contains(&format!("judged by policy and baseline of commit {} of main", &pull.base[..10])), "{said}");
    assert_eq!(verdict(&clone)["baseline"]["place"], format!("base.jsonl at commit {}", &pull.base[..10]));
    // Only the base commit was fetched, and the history that was cut is as short as before.
    assert_eq!(git(&clone, &["rev-list", "--count", "--all"]), "1", "no ref was made");
    assert!(git(&clone, &["cat-file", "-t", &pull.base]) == "commit");
}

#[test]
fn every_loosening_is_red_and_listed_whatever_the_scores() {
    let world = Proposal::usual();
    let pull = world.propose(|world| {
        world.write(
            SUITE,
            &suite("0.5", "  baseline: { path: base.jsonl, missing: warn }\n  max_missing: 0.5\n")
                .replace("[critical]", "[other]"),
        );
        world.write("data.jsonl", &rows(29, 0).replace(",\"tags\":[\"critical\"]", ",\"tags\":[\"other\"]"));
    });
    let clone = world.checkout("ci", "refs/pull/1/merge");
    let said = checked(&pull.judged(&clone, &[]), 1);
    let found = changes(&clone);
    for what in [
        "gate.metrics.quality.min",
        "gate.max_missing",
        "gate.must_pass.tags",
        "gate.baseline.missing",
        "1 case (q29)",
        "1 case (q00)",
    ] {
        assert!(found.contains(&(what.to_owned(), true)), "{what} is not in {found:?}\n{said}");
    }
    for text in [said, report(&clone, "comment.md").replace('\\', ""), report(&clone, "junit.xml")] {
        assert!(text.contains("gate.metrics.quality.min: 0.9 → 0.5 (scoregate.yaml:8)"), "{text}");
    }
    let junit = report(&clone, "junit.xml");
    assert!(junit.contains("name=\"policy\"") && junit.contains("<failure"), "{junit}");
}

#[test]
fn what_becomes_stricter_is_told_and_decides_after_the_merge() {
    let world = Proposal::usual();
    let pull = world.propose(|world| world.write(SUITE, &suite("0.95", COMPARED)));
    let clone = world.checkout("ci", "refs/pull/1/merge");
    let said = checked(&pull.judged(&clone, &[]), 0);
    assert_eq!(changes(&clone), [("gate.metrics.quality.min".to_owned(), false)]);
    assert!(said.contains("changed, and decides after the merge: gate.metrics.quality.min: 0.9 → 0.95"), "{said}");
}

/// Worse answers, a lower threshold, and a baseline made of both.
fn with_its_own_baseline(world: &Proposal) {
    world.write("data.jsonl", &rows(30, 12));
    world.write(SUITE, &suite("0.5", ""));
    world.accept();
    world.write(SUITE, &suite("0.5", COMPARED));
}

/// The whole verdict is the base's: its threshold, and its baseline.
#[test]
fn a_change_cannot_bring_its_own_baseline() {
    let world = Proposal::usual();
    let pull = world.propose(with_its_own_baseline);
    let clone = world.checkout("ci", "refs/pull/1/merge");
    let said = checked(&pull.judged(&clone, &[]), 1);
    assert!(
        said.contains("baseline base.jsonl: 1 run, 30 cases, quality 1.000 → 1 run, 30 cases, quality 0.600"),
        "{said}"
    );
    assert!(said.contains("1.000 → 0.600"), "compared with the base's: {said}");
    let rules = verdict(&clone)["rules"].clone();
    let missed = |rule: &str| {
        rules.as_array().expect("rules").iter().any(|one| one["rule"] == rule && one["severity"] == "fail")
    };
    assert!(missed("policy") && missed("threshold") && missed("not_worse"), "{rules}");
}

#[test]
fn whoever_may_decide_accepts_the_changes_and_that_stands_in_every_report() {
    let world = Proposal::usual();
    let pull = world.propose(with_its_own_baseline);
    let clone = world.checkout("ci", "refs/pull/1/merge");
    let said = checked(&pull.judged(&clone, &["--accept-policy-changes"]), 0);
    assert_eq!(by(&clone), "accepted");
    for text in [said, report(&clone, "comment.md").replace('\\', "")] {
        assert!(
            text.contains("--accept-policy-changes") && text.contains("gate.metrics.quality.min: 0.9 → 0.5"),
            "{text}"
        );
    }
    let waived = checked(&pull.judged(&clone, &["--base", "none"]), 0);
    assert!(waived.contains("--base none"), "{waived}");
}

#[test]
fn an_evaluator_that_is_changed_or_gone_is_named() {
    let with = |pattern: &str, more: &str| {
        format!(
            "version: 1\nname: rag\ndataset: {{ path: data.jsonl }}\nevaluators:\n  cites: {{ use: regex, pattern: '{pattern}' }}\n{more}"
        )
    };
    let world = Proposal::new(&[(SUITE, &with("^yes$", "  short: { use: length, max: 5 }\n"))]);
    world.commit("begin");
    world.push("main");
    let pull = world.propose(|world| world.write(SUITE, &with("yes|no", "")));
    let clone = world.checkout("ci", "refs/pull/1/merge");
    let said = checked(&pull.judged(&clone, &[]), 1);
    assert!(said.contains("evaluators.short: measured → removed"), "{said}");
    assert!(changes(&clone).iter().any(|(what, loosens)| what.starts_with("evaluators.cites.") && *loosens), "{said}");
}

/// A pull request of a fork, checked out at its own head in a clone of one commit: the merge base is looked for, and only as deep as it
/// lies.
#[test]
fn a_fork_s_head_in_a_shallow_clone_is_judged_by_the_merge_base() {
    let world = Proposal::usual();
    for at in 0..5 {
        world.write("notes", &format!("{at}"));
        world.commit("before");
    }
    world.push("main");
    let forked = git(&world.author(), &["rev-parse", "HEAD"]);
    git(&world.author(), &["checkout", "--quiet", "-b", "theirs"]);
    for at in 0..4 {
        world.write("theirs", &format!("{at}"));
        world.commit("theirs");
    }
    world.write(SUITE, &suite("0.1", COMPARED));
    let head = world.commit("lower");
    world.push("refs/pull/7/head");
    // Meanwhile main asks for more.
    git(&world.author(), &["checkout", "--quiet", "main"]);
    world.write(SUITE, &suite("0.99", COMPARED));
    let tip = world.commit("stricter");
    world.push("main");
    let clone = world.checkout("fork", "refs/pull/7/head");
    let mut payload =
        json!({ "pull_request": { "number": 7, "head": { "sha": head }, "base": { "sha": tip, "ref": "main" } } });
    payload["pull_request"]["head"]["repo"] = json!({ "full_name": "stranger/demo", "fork": true });
    payload["pull_request"]["base"]["repo"] = json!({ "full_name": "octo/demo", "fork": false });
    let said = checked(&job(&clone, "pull_request", &payload, &["run"]), 1);
    assert_eq!(verdict(&clone)["base"]["commit"], forked.as_str(), "{said}");
    assert!(said.contains("gate.metrics.quality.min: 0.9 → 0.1"), "{said}");
    assert!(said.contains(&format!("the base has moved on to commit {}", &tip[..10])), "{said}");
}

#[test]
fn a_merge_queue_is_judged_by_what_it_builds_on() {
    let world = Proposal::usual();
    let pull = world.propose(|world| world.write(SUITE, &suite("0.2", COMPARED)));
    world.push("refs/heads/gh-readonly-queue/main/pr-1");
    let clone = world.checkout("queue", "refs/heads/gh-readonly-queue/main/pr-1");
    let payload = json!({ "merge_group": {
        "head_sha": pull.merged, "base_sha": pull.base, "base_ref": "refs/heads/main",
    } });
    let said = checked(&job(&clone, "merge_group", &payload, &["run"]), 1);
    assert_eq!(verdict(&clone)["base"]["commit"], pull.base.as_str(), "{said}");
    assert!(said.contains("gate.metrics.quality.min: 0.9 → 0.2"), "{said}");
}

#[test]
fn a_suite_does_not_get_rid_of_its_policy_by_another_name() {
    let world = Proposal::usual();
    let pull = world.propose(|world| {
        std::fs::remove_file(world.author().join(SUITE)).expect("the suite");
        world.write(
            "evals/gate.yaml",
            &suite("0.2", "  baseline: { path: ../base.jsonl }\n").replace("data.jsonl", "../data.jsonl"),
        );
    });
    let clone = world.checkout("ci", "refs/pull/1/merge");
    let said = checked(&pull.judged(&clone, &["evals/gate.yaml"]), 1);
    assert!(said.contains("gate.metrics.quality.min: 0.9 → 0.2 (evals/gate.yaml:8)"), "{said}");
    assert!(said.contains("the suite was scoregate.yaml on the base, and is evals/gate.yaml now"), "{said}");
}

#[test]
#[cfg(unix)]
fn a_link_in_the_suite_s_place_is_judged_by_what_was_there() {
    let world = Proposal::usual();
    let pull = world.propose(|world| {
        std::fs::remove_file(world.author().join(SUITE)).expect("the suite");
        world.write("other.yaml", &suite("0.1", COMPARED));
        std::os::unix::fs::symlink("other.yaml", world.author().join(SUITE)).expect("a link");
    });
    let clone = world.checkout("ci", "refs/pull/1/merge");
    let said = checked(&pull.judged(&clone, &[]), 1);
    assert!(said.contains("gate.metrics.quality.min: 0.9 → 0.1"), "{said}");
}

#[test]
fn a_suite_that_is_new_is_judged_by_itself_and_says_so() {
    let world = Proposal::new(&[]);
    world.commit("begin");
    world.push("main");
    let pull = world.propose(|world| world.write(SUITE, &suite("0.9", "")));
    let clone = world.checkout("ci", "refs/pull/1/merge");
    let said = checked(&pull.judged(&clone, &[]), 0);
    assert_eq!(by(&clone), "new_suite");
    assert!(said.contains("passed with a warning") && said.contains("the suite is new in this change"), "{said}");
    // What decides is still measured.
    let pull = {
        git(&world.author(), &["checkout", "--quiet", "main"]);
        git(&world.author(), &["branch", "-D", "change"]);
        world.propose(|world| {
            world.write(SUITE, &suite("0.9", ""));
            world.write("data.jsonl", &rows(30, 20));
        })
    };
    let clone = world.checkout("again", "refs/pull/1/merge");
    checked(&pull.judged(&clone, &[]), 1);
}

#[test]
fn without_a_base_there_is_no_green() {
    let world = Proposal::usual();
    let pull = world.propose(|world| world.write("README", "words"));
    type Damage<'d> = &'d dyn Fn(&std::path::Path);
    let cases: [(&str, Damage<'_>, &str); 3] = [
        (
            "nothing",
            &|clone| std::fs::remove_dir_all(clone.join(".git")).expect("git's folder"),
            "not a git repository",
        ),
        (
            "unreachable",
            &|clone| {
                git(clone, &["remote", "set-url", "origin", "file:///nowhere/at/all"]);
            },
            "could not be fetched",
        ),
        (
            "alone",
            &|clone| {
                git(clone, &["remote", "remove", "origin"]);
            },
            "no remote could be asked",
        ),
    ];
    for (name, damage, words) in cases {
        let clone = world.checkout(name, "refs/pull/1/merge");
        damage(&clone);
        let said = checked(&pull.judged(&clone, &[]), 3);
        assert_eq!(by(&clone), "unknown", "{said}");
        for text in [said, report(&clone, "comment.md").replace('\\', "")] {
            assert!(
                text.contains(words) && text.contains("the base branch's policy could not be read"),
                "{name}: {text}"
            );
        }
        // The workflow may do without, and every report says so.
        let waived = checked(&pull.judged(&clone, &["--base=none"]), 0);
        assert!(waived.contains("--base none"), "{waived}");
    }
}

#[test]
fn a_payload_that_is_gone_leaves_the_merge_commit_or_no_green() {
    let world = Proposal::usual();
    let pull = world.propose(|world| world.write(SUITE, &suite("0.5", COMPARED)));
    let clone = world.checkout("ci", "refs/pull/1/merge");
    let run = |more: &[(&str, &str)]| {
        let mut command = command(&clone, &["run", "--no-comment"]);
        command.env("GITHUB_ACTIONS", "true").env("GITHUB_EVENT_NAME", "pull_request").envs(more.iter().copied());
        command.output().expect("the binary starts")
    };
    let said = checked(&run(&[("GITHUB_REF", "refs/pull/1/merge"), ("GITHUB_SHA", &pull.merged)]), 1);
    assert!(said.contains("gate.metrics.quality.min: 0.9 → 0.5"), "{said}");
    let said = checked(&run(&[("GITHUB_BASE_REF", "main")]), 1);
    assert!(said.contains("gate.metrics.quality.min: 0.9 → 0.5"), "{said}");
    let said = checked(&run(&[]), 3);
    assert!(said.contains("does not say which branch"), "{said}");
}

#[test]
fn other_hosts_say_what_the_base_is_and_a_base_can_be_named() {
    let world = Proposal::usual();
    let pull = world.propose(|world| world.write(SUITE, &suite("0.5", COMPARED)));
    type Variables<'v> = Vec<(&'v str, &'v str)>;
    let hosts: [(&str, &str, Variables<'_>, Vec<&str>); 4] = [
        (
            "azure",
            "refs/pull/1/merge",
            vec![
                ("SYSTEM_PULLREQUEST_PULLREQUESTID", "1"),
                ("SYSTEM_PULLREQUEST_TARGETBRANCH", "refs/heads/main"),
                ("SYSTEM_PULLREQUEST_SOURCECOMMITID", &pull.head),
            ],
            vec![],
        ),
        (
            "gitlab",
            "refs/pull/1/head",
            vec![("CI_MERGE_REQUEST_IID", "1"), ("CI_MERGE_REQUEST_DIFF_BASE_SHA", &pull.base)],
            vec![],
        ),
        ("branch", "refs/pull/1/head", vec![], vec!["--base", "main"]),
        ("commit", "refs/pull/1/head", vec![], vec!["--base", &pull.base]),
    ];
    for (name, reference, variables, more) in hosts {
        let clone = world.checkout(name, reference);
        let mut command = command(&clone, &["run"]);
        let output = command.args(more).envs(variables).output().expect("the binary starts");
        let said = checked(&output, 1);
        assert!(said.contains("gate.metrics.quality.min: 0.9 → 0.5"), "{name}: {said}");
        assert_eq!(verdict(&clone)["base"]["commit"], pull.base.as_str(), "{name}");
    }
    let clone = world.checkout("typo", "refs/pull/1/head");
    for name in ["mian", "--upload-pack=touch x", "a..b"] {
        let output = command(&clone, &["run", &format!("--base={name}")]).output().expect("the binary starts");
        checked(&output, 3);
    }
    // Whoever names nothing and is no pull request is judged by what is checked out.
    check(&clone, &["run"], 0);
}

#[test]
fn compare_takes_the_base_s_policy_too() {
    let lines: String =
        (0..30).map(|at| format!("{{\"case\":\"q{at:02}\",\"metric\":\"quality\",\"value\":0.7}}\n")).collect();
    let policy = |min: &str| suite(min, "").replace("  must_pass: { tags: [critical] }\n", "");
    let world = Proposal::new(&[(SUITE, &policy("0.9")), ("now.jsonl", &lines)]);
    world.commit("begin");
    world.push("main");
    let pull = world.propose(|world| world.write(SUITE, &policy("0.5")));
    let clone = world.checkout("ci", "refs/pull/1/merge");
    let said = checked(&job(&clone, "pull_request", &pull.payload(), &["compare", "now.jsonl", "--suite", SUITE]), 1);
    assert!(said.contains("gate.metrics.quality.min: 0.9 → 0.5") && said.contains("below the required 0.9"), "{said}");
}

#[test]
fn a_base_that_is_broken_is_no_green_and_says_where() {
    let world = Proposal::new(&[(SUITE, &suite("0.9", "").replace("mode:", "mood:"))]);
    world.commit("begin");
    world.push("main");
    let pull = world.propose(|world| world.write(SUITE, &suite("0.9", "")));
    let clone = world.checkout("ci", "refs/pull/1/merge");
    let said = checked(&pull.judged(&clone, &[]), 3);
    assert!(said.contains("the base's suite is not right: scoregate.yaml:8 of commit"), "{said}");
    checked(&pull.judged(&clone, &["--base=none"]), 0);
}

#[test]
fn what_changed_of_the_cases_is_said_by_name() {
    let world = Proposal::usual();
    let pull = world.propose(|world| {
        let text = rows(30, 0).replace("\"input\":\"3?\"", "\"input\":\"three?\"");
        let other = text.lines().map(|line| match line.contains("q07") || line.contains("q08") {
            true => line.replace("\"reference\":\"yes\"", "\"reference\":\"Yes\""),
            false => line.to_owned(),
        });
        world.write("data.jsonl", &(other.collect::<Vec<_>>().join("\n") + "\n"));
    });
    let clone = world.checkout("ci", "refs/pull/1/merge");
    let said = checked(&pull.judged(&clone, &[]), 0);
    assert!(said.contains("1 case changed its question: q03"), "{said}");
    assert!(said.contains("2 cases changed their reference: q07, q08"), "{said}");
}

/// cases.yaml `bl-pr-edits-own-gate`: threshold, baseline, removed case and judge, all at once.
#[test]
fn bl_pr_edits_own_gate() {
    // What is wrong stands in the answer; the judge sees it.
    fn judge(_: usize, body: &str) -> (&'static str, String) {
        ("200 OK", completion(if body.contains("WRONG") { "NO" } else { "YES" }))
    }
    let server = ChatServer::start(Duration::ZERO, judge);
    let suite = |min: &str, model: &str, more: &str| {
        format!(
            "version: 1\nname: own\ndataset: {{ path: data.jsonl }}\nmodels:\n  judge: {{ provider: openai, model: {model}, base_url: \"{}/v1\", api_key: \"${{JUDGE_KEY}}\" }}\n\
             evaluators:\n  quality: {{ use: relevancy, model: judge }}\ngate:\n  metrics:\n    quality: {{ min: {min}, mode: point }}\n{more}",
            server.url
        )
    };
    let data = |ids: &[&str], answer: &str| -> String {
        ids.iter()
            .map(|id| {
                format!(
                    "{{\"id\":\"{id}\",\"input\":\"{id}?\",\"answer\":\"{answer}\",\"answer_contexts\":[\"{id}\"]}}\n"
                )
            })
            .collect()
    };
    let world = Proposal::new(&[
        (SUITE, &suite("0.90", "judge-large", "")),
        (".gitignore", ".scoregate\nscoregate-out\nfirst\n"),
    ]);
    let accept = || {
        let run = |arguments: &[&str]| {
            let output =
                command(&world.author(), arguments).env("JUDGE_KEY", "sk-0123456789").output().expect("the binary");
            assert!(matches!(output.status.code(), Some(0 | 1)), "{}", String::from_utf8_lossy(&output.stderr));
        };
        run(&["run", "--out", "first", "--ledger", "off"]);
        run(&["baseline", "update", "first/results.jsonl", "--to", "base.jsonl"]);
    };
    world.write("data.jsonl", &data(&["easy", "middle", "hard"], "fine"));
    accept();
    world.write(SUITE, &suite("0.90", "judge-large", COMPARED));
    world.commit("begin");
    world.push("main");
    let pull = world.propose(|world| {
        world.write("data.jsonl", &data(&["easy", "middle"], "WRONG"));
        world.write(SUITE, &suite("0.50", "judge-tiny", ""));
        accept();
        world.write(SUITE, &suite("0.50", "judge-tiny", COMPARED));
    });
    let clone = world.checkout("ci", "refs/pull/1/merge");
    let place = folder(&[("event.json", &pull.payload().to_string())]);
    let run = |more: &[&str]| {
        let mut command = command(&clone, &["run", "--no-comment"]);
        command
            .args(more)
            .env("JUDGE_KEY", "sk-0123456789")
            .env("GITHUB_ACTIONS", "true")
            .env("GITHUB_EVENT_NAME", "pull_request")
            .env("GITHUB_EVENT_PATH", place.path().join("event.json"));
        command.output().expect("the binary starts")
    };
    let said = checked(&run(&[]), 1);
    for text in [said, report(&clone, "comment.md").replace('\\', "")] {
        for words in [
            "gate.metrics.quality.min: 0.9 → 0.5",
            "baseline base.jsonl: 1 run, 3 cases, quality 1.000 → 1 run, 2 cases, quality 0.000",
            "1 case (hard): asked → removed",
            "evaluators.quality.model: judge-large → judge-tiny",
        ] {
            assert!(text.contains(words), "{words} is not in\n{text}");
        }
    }
    std::fs::remove_dir_all(clone.join(".git")).expect("git's folder");
    let said = checked(&run(&[]), 1);
    assert!(said.contains("the base branch's policy could not be read") || by(&clone) == "unknown", "{said}");
}

/// cases.yaml `bl-own-history`: the run before is never the yardstick, and the report says which base it was and that it moved.
#[test]
fn bl_own_history_in_a_pull_request() {
    let world = Proposal::usual();
    let pull = world.propose(|world| world.write("data.jsonl", &rows(30, 12)));
    git(&world.author(), &["checkout", "--quiet", "main"]);
    world.write("later", "x");
    let tip = world.commit("main moves");
    world.push("main");
    let clone = world.checkout("ci", "refs/pull/1/head");
    let mut payload: Value = pull.payload();
    payload["pull_request"]["base"]["sha"] = json!(tip);
    for _ in 0..2 {
        let said = checked(&job(&clone, "pull_request", &payload, &["run"]), 1);
        assert!(said.contains("1.000 → 0.600"), "{said}");
        assert!(said.contains(&format!("judged by policy and baseline of commit {}", &pull.base[..10])), "{said}");
        assert!(said.contains(&format!("the base has moved on to commit {}", &tip[..10])), "{said}");
    }
}

#[test]
fn a_baseline_that_is_seeded_may_be_missing_on_a_branch_and_not_in_a_pull_request() {
    let world = Proposal::new(&[(SUITE, &suite("0.9", "  baseline: { path: base.jsonl, missing: seed }\n"))]);
    world.commit("begin");
    world.push("main");
    let said = check(&world.author(), &["run"], 0);
    assert!(said.contains("NO BASELINE") && said.contains("baseline.missing seed"), "{said}");
    git(&world.author(), &["clean", "-fdq"]);
    let pull = world.propose(|world| world.write("README", "words"));
    let clone = world.checkout("ci", "refs/pull/1/merge");
    let said = checked(&pull.judged(&clone, &[]), 3);
    assert!(said.contains("no baseline: base.jsonl at commit"), "{said}");
}
