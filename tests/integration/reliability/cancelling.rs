//! R3: a signal ends a run from any state within the promised time, with valid reports and nothing left running.

use std::path::Path;
use std::process::{Child, Output, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use nix::sys::signal::Signal;

use super::{case_of, mixed, rows, seed, sized, slack, until};
use crate::command::{checked, command, err, folder, report, results, verdict};
use crate::process::send;
use crate::programs::gone_within_a_second;
use crate::raw_server::{Step, json};
use crate::scripted_server::ScriptedServer;

/// What the workers are in when the signal comes.
#[derive(Clone, Copy, Debug)]
enum State {
    Working,
    /// A broken server is tried again later.
    BackingOff,
    /// The server named a moment.
    HeldBack,
    StalledBody,
    Program,
    /// All is measured.
    Reporting,
}

const STATES: [State; 6] =
    [State::Working, State::BackingOff, State::HeldBack, State::StalledBody, State::Program, State::Reporting];
const SIGNALS: [(Signal, i32); 3] = [(Signal::SIGINT, 130), (Signal::SIGTERM, 143), (Signal::SIGHUP, 143)];

/// Answers all cases before `healthy`, as `state` has it those behind.
fn steps(state: State, case: usize, healthy: usize) -> Vec<Step> {
    let good = json("200 OK", "{\"answer\":\"fine\"}");
    if case < healthy {
        return vec![Step::Send(good)];
    }
    match state {
        State::Working => vec![Step::Pause(Duration::from_millis(30)), Step::Send(good)],
        State::BackingOff => vec![Step::Send(json("500 Internal Server Error", "{}"))],
        State::HeldBack => {
            vec![Step::Send(b"HTTP/1.1 429 Too Many Requests\r\nRetry-After: 60\r\nContent-Length: 0\r\n\r\n".to_vec())]
        }
        State::StalledBody => vec![Step::Send(good[..good.len() - 1].to_vec()), Step::Stall],
        State::Program | State::Reporting => vec![Step::Send(good)],
    }
}

/// `finished` cases that are answered at once, then `others`.
fn place(state: State, url: &str, finished: usize, others: usize) -> tempfile::TempDir {
    let app = match state {
        State::Program => {
            "command: { argv: [sh, -c, 'case \"$0\" in *done*) echo fine;; *) sleep 60 & echo $! $$$$ >> pids; sleep 50;; esac', \"{{ input }} {{ metadata.how }}\"] }".to_owned()
        }
        _ => format!("http: {{ url: \"{url}\", body: {{ q: \"{{{{ input }}}}\" }}, answer: $.answer }}"),
    };
    let text = format!(
        "version: 1\nname: signals\ndataset: {{ path: data.jsonl }}\ntargets:\n  app:\n    {app}\nevaluators:\n  length: {{ min: 1 }}\ngate: {{ min_measured: 1 }}\nrun: {{ workers: 4, retry: {{ attempts: 20 }} }}\n"
    );
    let how = |(at, row): (usize, &str)| {
        let how = if at < finished { "done" } else { "open" };
        format!("{},\"how\":\"{how}\"}}\n", row.trim_end_matches('}'))
    };
    let rows: String = rows(0..finished + others).lines().enumerate().map(how).collect();
    folder(&[("scoregate.yaml", &text), ("data.jsonl", &rows)])
}

fn start(place: &Path) -> Child {
    let mut run = command(place, &["run"]);
    run.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("a run")
}

/// The reports are there, whole, and of one mind.
fn valid(place: &Path, output: &Output, expected: i32, cases: usize) {
    let code = output.status.code().unwrap_or_else(|| panic!("ended by a signal: {}", err(output)));
    let verdict = verdict(place);
    assert_eq!(verdict["exit_code"], code, "{}", err(output));
    let junit = report(place, "junit.xml");
    let mut reader = quick_xml::Reader::from_str(&junit);
    while !matches!(reader.read_event().expect("XML"), quick_xml::events::Event::Eof) {}
    let lines = results(place);
    let end = lines.last().expect("an end");
    assert_eq!((&end["type"], &end["outcomes"]), (&"end".into(), &(lines.len() - 2).into()));
    if code == expected {
        assert_eq!((&verdict["verdict"], &verdict["partial"]), (&"not_evaluated".into(), &true.into()));
    } else {
        // The signal came when all was done.
        assert_eq!((code, lines.len() - 2), (0, cases), "{}", err(output));
    }
    checked(output, code);
}

/// One run that is cancelled in `state`; returns how long the end took.
fn cancelled(state: State, (signal, expected): (Signal, i32), chance: u64) -> Duration {
    let (finished, others) = match state {
        State::Program => (10, 20),
        _ => (sized(60, 10_000), 60),
    };
    let late = Arc::new(AtomicUsize::new(0));
    let counter = Arc::clone(&late);
    let server = ScriptedServer::start(move |asked| {
        let case = case_of(&asked.body);
        counter.fetch_add(usize::from(case >= finished), Ordering::SeqCst);
        steps(state, case, finished)
    });
    let place = place(state, &server.url("/q"), finished, others);
    let mut child = start(place.path());
    let pids = place.path().join("pids");
    match state {
        State::Program => until("a program", || std::fs::read_to_string(&pids).is_ok_and(|text| text.contains('\n'))),
        State::Reporting => until("the last case", || late.load(Ordering::SeqCst) >= others),
        _ => until("a case that waits", || late.load(Ordering::SeqCst) > 0),
    }
    std::thread::sleep(Duration::from_micros(chance & 0x7fff));
    if child.try_wait().expect("a child").is_some() {
        assert!(matches!(state, State::Reporting), "{state:?}: ended before the signal");
        return Duration::ZERO;
    }
    let begun = Instant::now();
    send(&child, signal);
    let output = child.wait_with_output().expect("an end");
    let took = begun.elapsed();
    valid(place.path(), &output, expected, finished + others);
    if matches!(state, State::Program) {
        gone_within_a_second(&pids);
    }
    took
}

#[test]
fn a_signal_in_any_state_leaves_reports() {
    let (seed, begun) = (seed("a_signal_in_any_state"), Instant::now());
    let (promised, mut longest) = (Duration::from_secs(2), (Duration::ZERO, State::Working));
    let trials = sized(12, 100);
    for trial in 0..trials {
        let state = STATES[trial % STATES.len()];
        let took = cancelled(state, SIGNALS[trial % SIGNALS.len()], mixed(&[seed, trial as u64]));
        assert!(took <= slack(promised), "{state:?}: {took:?}");
        if took > longest.0 {
            longest = (took, state);
        }
    }
    println!("R3: {trials} signals, valid reports and end within {longest:?}, {:?}", begun.elapsed());
}

/// Reports that take long to write do not keep a second signal waiting.
#[test]
fn a_second_signal_ends_it_at_once() {
    const CASES: usize = 16_000;
    let seed = seed("a_second_signal");
    let (mut longest, mut caught) = (Duration::ZERO, 0);
    for trial in 0..sized(4, 20) {
        let row = |at| format!("{{\"id\":\"q{at}\",\"input\":\"question q{at}?\",\"answer\":\"fine\"}}\n");
        let rows: String = (0..sized(1, 2) * CASES).map(row).collect();
        let suite = "version: 1\nname: signals\ndataset: { path: data.jsonl }\nevaluators:\n  length: { min: 1 }\n";
        let place = folder(&[("scoregate.yaml", suite), ("data.jsonl", &rows)]);
        let mut child = start(place.path());
        let (signal, expected) = SIGNALS[trial % SIGNALS.len()];
        if trial % 2 == 0 {
            // Measured; what follows is the reports.
            until("the results", || place.path().join("scoregate-out/results.jsonl").exists());
        } else {
            until("the first results", || place.path().join("scoregate-out").exists());
            std::thread::sleep(Duration::from_micros(mixed(&[seed, trial as u64]) & 0xffff));
        }
        if child.try_wait().expect("a child").is_some() {
            continue;
        }
        send(&child, signal);
        // Sooner would be an echo of the first.
        std::thread::sleep(Duration::from_millis(120));
        let begun = Instant::now();
        if child.try_wait().expect("a child").is_some() {
            continue;
        }
        send(&child, signal);
        let output = child.wait_with_output().expect("an end");
        longest = longest.max(begun.elapsed());
        caught += 1;
        let code = output.status.code();
        assert!(code == Some(expected) || code == Some(0), "{code:?}: {}", err(&output));
        // What is there is whole.
        if place.path().join("scoregate-out/results.jsonl").exists() {
            assert_eq!(results(place.path()).last().expect("an end")["type"], "end");
        }
    }
    println!("R3: a second signal ends it within {longest:?}, in {caught} runs that were still there for it");
    assert!(caught > 0, "every run ended before its second signal");
    assert!(longest <= slack(Duration::from_millis(200)), "{longest:?}");
}
