//! R1: every planned case is accounted for, whatever goes wrong, and nothing that went wrong is green.

use std::collections::{BTreeMap, BTreeSet};
use std::net::TcpListener;
use std::process::Output;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use serde_json::Value;

use super::accounts::{Tally, balanced};
use super::faults::{BROKEN, DEADLINE, Fault, GARBAGE, LEAVING, LOADED, PROGRAMS, STOPPING, ok};
use super::{case_of, mixed, rows, seed, sized, until};
use crate::chat_server::completion;
use crate::command::{command, err, folder, results};
use crate::raw_server::Step;
use crate::scripted_server::ScriptedServer;

/// What the server did, by case.
#[derive(Default)]
struct Done {
    attempts: BTreeMap<usize, u64>,
    /// Cases whose good answer was on its way.
    good: BTreeSet<usize>,
    injected: usize,
    /// Requests that had arrived when the last fault was injected.
    before: u64,
    kinds: BTreeSet<&'static str>,
}

/// What happens at a case's attempt, counted from 0; `None`: the good answer.
type Choice = dyn Fn(usize, u64) -> Option<Fault> + Send + Sync;

struct Faulty {
    server: ScriptedServer,
    done: Arc<Mutex<Done>>,
}

impl Faulty {
    /// Answers with `good` of the case where `choose` injects nothing.
    fn start(good: fn(usize) -> String, choose: impl Fn(usize, u64) -> Option<Fault> + Send + Sync + 'static) -> Self {
        Self::pausing(Duration::ZERO, good, choose)
    }

    /// As [`Self::start`], with good answers that take their time.
    fn pausing(
        pause: Duration,
        good: fn(usize) -> String,
        choose: impl Fn(usize, u64) -> Option<Fault> + Send + Sync + 'static,
    ) -> Self {
        let done: Arc<Mutex<Done>> = Arc::default();
        let noted = Arc::clone(&done);
        let choose: Box<Choice> = Box::new(choose);
        let server = ScriptedServer::start(move |asked| {
            let case = case_of(&asked.body);
            let mut done = noted.lock().expect("the notes");
            let attempt = done.attempts.entry(case).or_default();
            let chosen = choose(case, *attempt);
            *attempt += 1;
            let Some((name, steps)) = chosen else {
                done.good.insert(case);
                return std::iter::once(Step::Pause(pause)).chain(ok(&good(case))).collect();
            };
            done.injected += 1;
            done.before = done.attempts.values().sum();
            done.kinds.insert(name);
            drop(done);
            steps(&good(case))
        });
        Self { server, done }
    }

    fn injected(&self) -> usize {
        self.done.lock().expect("the notes").injected
    }

    /// Requests that came after the last fault.
    fn after(&self) -> u64 {
        let done = self.done.lock().expect("the notes");
        done.attempts.values().sum::<u64>() - done.before
    }

    fn kinds(&self) -> usize {
        self.done.lock().expect("the notes").kinds.len()
    }

    /// A good answer that was sent is used unless it came too late; what is used was sent.
    fn agrees(&self, found: &BTreeMap<usize, Value>) {
        let done = self.done.lock().expect("the notes");
        for (case, line) in found {
            let score = &line["scores"][0];
            let scored = score.get("value").is_some();
            assert!(!scored || done.good.contains(case), "a score from nothing: {line}");
            if done.good.contains(case) && !scored {
                let kinds = [&line["error"]["kind"], &score["error"]["kind"], &score["unusable"]["kind"]];
                assert!(kinds.iter().any(|kind| **kind == "timeout"), "a good answer is lost: {line}");
            }
            if line.get("answer").is_some() && line["answer"]["text"] != "recorded" {
                assert_eq!(line["answer"]["text"], format!("fine q{case}"), "somebody else's answer");
            }
        }
    }

    /// Every request is counted (R26).
    fn counted(&self, place: &std::path::Path) {
        let end = results(place).pop().expect("an end");
        let told = end["calls"]["requests"].as_u64().expect("a number");
        until("the last request", || self.server.seen() as u64 >= told);
        assert_eq!(self.server.seen() as u64, told, "{}", end["calls"]);
    }
}

fn target(url: &str) -> String {
    format!(
        "targets:\n  app:\n    http: {{ url: \"{url}\", body: {{ q: \"{{{{ input }}}}\" }}, answer: $.answer }}\nevaluators:\n  length: {{ min: 1 }}\n"
    )
}

fn place(body: &str, metric: &str, run: &str, rows: &str) -> tempfile::TempDir {
    let text = format!(
        "version: 1\nname: faults\ndataset: {{ path: data.jsonl }}\n{body}gate:\n  metrics:\n    {metric}: {{ case_min: 1 }}\n  min_measured: 1\nrun: {{ {run} }}\n"
    );
    folder(&[("scoregate.yaml", &text), ("data.jsonl", rows)])
}

fn run(place: &tempfile::TempDir) -> Output {
    command(place.path(), &["run"]).output().expect("the binary starts")
}

fn answer(case: usize) -> String {
    format!("{{\"answer\":\"fine q{case}\"}}")
}

fn yes(_: usize) -> String {
    completion("YES")
}

/// Cases that go well, so that many are in flight when the faults begin.
const WARM: usize = 40;

/// One fault for every case; later attempts are as good as not.
fn one_each(seed: u64, faults: Vec<Fault>) -> impl Fn(usize, u64) -> Option<Fault> + Send + Sync {
    move |case, attempt| {
        let chance = mixed(&[seed, case as u64, attempt]);
        let good = case < WARM || (attempt > 0 && chance.is_multiple_of(2));
        (!good).then(|| faults[(chance / 2) as usize % faults.len()])
    }
}

fn settings() -> String {
    format!("timeout: {}ms, workers: 24, retry: {{ attempts: 2, max_elapsed: 30s }}", DEADLINE.as_millis())
}

fn report(name: &str, server: &Faulty, tally: Tally, begun: Instant) {
    let (injected, kinds) = (server.injected(), server.kinds());
    println!("R1 {name}: {injected} faults of {kinds} kinds, {tally:?}, {:?}", begun.elapsed());
}

#[test]
fn a_target_that_fails_in_every_way_is_accounted_for() {
    let (seed, begun) = (seed("a_target_that_fails_in_every_way"), Instant::now());
    let cases = WARM + sized(250, 4_500);
    let server = Faulty::start(answer, one_each(seed, BROKEN.to_vec()));
    let place = place(&target(&server.server.url("/q")), "length", &settings(), &rows(0..cases));
    let (tally, found) = balanced(place.path(), &run(&place), cases, &["length"]);
    server.agrees(&found);
    server.counted(place.path());
    report("target", &server, tally, begun);
    assert!(server.injected() >= cases - WARM && server.kinds() >= 30, "{} kinds", server.kinds());
    assert!(tally.scored > WARM as u64 && tally.errored > 20, "{tally:?}");
}

#[test]
fn a_judge_that_fails_in_every_way_is_accounted_for() {
    let (seed, begun) = (seed("a_judge_that_fails_in_every_way"), Instant::now());
    let cases = WARM + sized(200, 4_000);
    let faults = [BROKEN, GARBAGE, GARBAGE].concat();
    let server = Faulty::start(yes, one_each(seed, faults));
    let url = server.server.url("/v1");
    let judge = format!(
        "models:\n  judge: {{ provider: openai, model: m, base_url: \"{url}\", api_key: none-needed }}\nevaluators:\n  relevancy: {{ model: judge }}\n"
    );
    let row = |at| {
        format!(
            "{{\"id\":\"q{at}\",\"input\":\"question q{at}?\",\"answer\":\"recorded\",\"answer_contexts\":[\"c\"]}}\n"
        )
    };
    let place = place(&judge, "relevancy", &settings(), &(0..cases).map(row).collect::<String>());
    let (tally, found) = balanced(place.path(), &run(&place), cases, &["relevancy"]);
    server.agrees(&found);
    server.counted(place.path());
    report("judge", &server, tally, begun);
    assert!(server.injected() >= cases - WARM && server.kinds() >= 35, "{} kinds", server.kinds());
    assert!(tally.scored > WARM as u64 && tally.errored + tally.unusable > 20, "{tally:?}");
}

/// A storm of refusals passes by: everything is measured in the end.
#[test]
fn refusals_for_the_load_lose_nothing() {
    let (seed, begun) = (seed("refusals_for_the_load"), Instant::now());
    let (cases, storm) = (sized(40, 400), sized(16, 24));
    let refusals = AtomicUsize::new(seed as usize % LOADED.len());
    let last = refusals.load(Ordering::SeqCst) + storm;
    let server = Faulty::start(answer, move |_, _| {
        let number = refusals.fetch_add(1, Ordering::SeqCst);
        (number < last).then(|| LOADED[number % LOADED.len()])
    });
    let run_settings = "workers: 8, retry: { attempts: 20, max_elapsed: 5m }";
    let place = place(&target(&server.server.url("/q")), "length", run_settings, &rows(0..cases));
    let (tally, found) = balanced(place.path(), &run(&place), cases, &["length"]);
    server.agrees(&found);
    server.counted(place.path());
    report("load", &server, tally, begun);
    assert_eq!((tally.scored, server.injected(), server.kinds()), (cases as u64, storm, LOADED.len()));
}

#[test]
fn what_stops_an_endpoint_leaves_the_rest_not_evaluated() {
    let seed = seed("what_stops_an_endpoint");
    for (at, fault) in STOPPING.iter().enumerate() {
        for round in 0..sized(1, 20) {
            let cases = 60;
            let bad = 1 + mixed(&[seed, at as u64, round]) as usize % 20;
            let pause = Duration::from_millis(15);
            let server = Faulty::pausing(pause, answer, move |case, _| (case == bad).then_some(*fault));
            let settings = "workers: 3, retry: { attempts: 3, max_elapsed: 30s }";
            let place = place(&target(&server.server.url("/q")), "length", settings, &rows(0..cases));
            let output = run(&place);
            let (tally, found) = balanced(place.path(), &output, cases, &["length"]);
            server.agrees(&found);
            server.counted(place.path());
            assert_eq!(output.status.code(), Some(3), "{}: {}", fault.0, err(&output));
            // Those in flight may come to their end.
            assert!(server.injected() == 1 && server.after() <= 7, "{}: {}", fault.0, server.after());
            assert_eq!(tally.errored, (cases as u64) - tally.scored, "{}: {tally:?}", fault.0);
        }
    }
}

#[test]
fn a_server_without_tls_is_accounted_for() {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("an address");
    std::thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            let _gone =
                std::io::Write::write_all(&mut stream, b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n");
        }
    });
    let place = place(
        &target(&format!("https://{address}/q")),
        "length",
        "timeout: 5s, workers: 3, retry: { attempts: 1 }",
        &rows(0..6),
    );
    let output = run(&place);
    let (tally, _) = balanced(place.path(), &output, 6, &["length"]);
    assert_eq!((tally.errored, output.status.code()), (6, Some(3)));
}

#[test]
fn programs_that_fail_in_every_way_are_accounted_for() {
    let (seed, begun) = (seed("programs_that_fail_in_every_way"), Instant::now());
    let cases = sized(28, 500);
    let programs = [PROGRAMS, LEAVING].concat();
    let script = |case: usize| {
        // Every way once, then at random.
        let way =
            if case < programs.len() { case } else { mixed(&[seed, case as u64]) as usize % (2 * programs.len()) };
        programs.get(way).map_or("printf 'fine %s\\n' \"$0\"", |(_, script)| script)
    };
    let row = |case: usize| {
        let row = serde_json::json!({"id": format!("q{case}"), "input": format!("q{case}"), "script": script(case)});
        format!("{row}\n")
    };
    let app = "targets:\n  app:\n    command: [sh, -c, \"{{ metadata.script }}\", \"{{ input }}\"]\nevaluators:\n  length: { min: 1 }\n";
    let settings = "timeout: 1s, workers: 6, retry: { attempts: 2 }";
    let place = place(app, "length", settings, &(0..cases).map(row).collect::<String>());
    let (tally, found) = balanced(place.path(), &run(&place), cases, &["length"]);
    println!("R1 programs: {tally:?}, {:?}", begun.elapsed());
    for (case, line) in found {
        let fails = PROGRAMS.iter().any(|(_, program)| *program == script(case));
        let late = line["error"]["kind"] == "timeout";
        assert!(late || fails == line["scores"][0].get("value").is_none(), "{}: {line}", script(case));
        if !fails && !late {
            assert_eq!(line["answer"]["text"], format!("fine q{case}"));
        }
    }
    assert!(begun.elapsed() < Duration::from_secs(sized(60, 600)));
}
