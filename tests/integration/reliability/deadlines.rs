//! R8: a call ends at its deadline, wherever an answer stalls and whoever holds a program's pipes.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant, SystemTime};

use super::{case_of, mixed, rows, seed, sized, slack};
use crate::command::{checked, command, folder, outcomes};
use crate::programs::gone_within_a_second;
use crate::raw_server::{Step, json};
use crate::scripted_server::ScriptedServer;

const DEADLINE: Duration = Duration::from_millis(600);
/// Cases that go well first, so that many stall at once.
const WARM: usize = 40;

#[test]
fn a_stall_at_any_byte_ends_at_the_deadline() {
    let (seed, begun) = (seed("a_stall_at_any_byte"), Instant::now());
    let stalls = sized(50, 1_000);
    let good = json("200 OK", "{\"answer\":\"fine\"}");
    let ends: Arc<Mutex<Vec<Duration>>> = Arc::default();
    let noted = Arc::clone(&ends);
    let server = ScriptedServer::watched(
        move |asked| match case_of(&asked.body) {
            case if case < WARM => vec![Step::Pause(Duration::from_millis(10)), Step::Send(good.clone())],
            case => {
                let length = mixed(&[seed, case as u64]) as usize % good.len();
                vec![Step::Send(good[..length].to_vec()), Step::Stall]
            }
        },
        // The client has left.
        move |asked, answered| {
            if !answered {
                noted.lock().expect("the times").push(asked.at.elapsed());
            }
        },
    );
    let url = server.url("/q");
    let suite = format!(
        "version: 1\nname: stalls\ndataset: {{ path: data.jsonl }}\ntargets:\n  app:\n    http: {{ url: \"{url}\", body: {{ q: \"{{{{ input }}}}\" }}, answer: $.answer }}\nevaluators:\n  length: {{ min: 1 }}\ngate: {{ min_measured: 1 }}\nrun: {{ workers: 25, timeout: {}ms, retry: {{ attempts: 1 }} }}\n",
        DEADLINE.as_millis()
    );
    let place = folder(&[("scoregate.yaml", &suite), ("data.jsonl", &rows(0..WARM + stalls))]);
    checked(&command(place.path(), &["run"]).output().expect("a run"), 3);
    let outcomes = outcomes(place.path());
    let timed_out = outcomes[WARM..].iter().filter(|line| line["error"]["kind"] == "timeout").count();
    assert_eq!((outcomes.len(), timed_out), (WARM + stalls, stalls));
    super::until("the ends of all stalls", || ends.lock().expect("the times").len() >= stalls);
    let longest = ends.lock().expect("the times").iter().copied().max().expect("stalls");
    let over = longest.saturating_sub(DEADLINE);
    println!("R8: {stalls} stalls ended within {over:?} of the deadline, {:?}", begun.elapsed());
    assert!(over <= slack(Duration::from_millis(250)), "{over:?}");
}

/// Notes when the processes of `pids` are gone; a line is the program's pid, its child's, and the nanoseconds of its start.
fn watch(pids: PathBuf, over: Arc<AtomicBool>) -> HashMap<String, Duration> {
    let mut lasted = HashMap::new();
    let mut one_more = true;
    while one_more {
        one_more = !over.load(Ordering::SeqCst);
        let text = std::fs::read_to_string(&pids).unwrap_or_default();
        let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).expect("a clock");
        for line in text.lines() {
            let [program, child, start] = line.split(' ').collect::<Vec<_>>()[..] else { continue };
            let Ok(start) = start.parse() else { continue };
            let runs = |pid: &str| {
                let stat = std::fs::read_to_string(Path::new("/proc").join(pid).join("stat")).unwrap_or_default();
                !stat.is_empty() && !stat.contains(") Z ")
            };
            if !runs(program) && !runs(child) {
                let lasting = || now.saturating_sub(Duration::from_nanos(start));
                lasted.entry(program.to_owned()).or_insert_with(lasting);
            }
        }
        std::thread::sleep(Duration::from_millis(2));
    }
    lasted
}

#[test]
fn a_program_whose_child_holds_the_pipes_ends_at_the_deadline() {
    let begun = Instant::now();
    let holders = sized(8, 100);
    let script = "now=$(date +%s%N); sleep 60 & echo $$$$ $! $now >> pids; sleep 50";
    let suite = format!(
        "version: 1\nname: holders\ndataset: {{ path: data.jsonl }}\ntargets:\n  app:\n    command: {{ argv: [sh, -c, '{script}'], timeout: {}ms }}\nevaluators:\n  length: {{ min: 1 }}\ngate: {{ min_measured: 1 }}\nrun: {{ workers: 4, retry: {{ attempts: 1 }} }}\n",
        DEADLINE.as_millis()
    );
    let place = folder(&[("scoregate.yaml", &suite), ("data.jsonl", &rows(0..holders))]);
    let (pids, over) = (place.path().join("pids"), Arc::new(AtomicBool::new(false)));
    let watching = {
        let (pids, over) = (pids.clone(), Arc::clone(&over));
        std::thread::spawn(move || watch(pids, over))
    };
    checked(&command(place.path(), &["run"]).output().expect("a run"), 3);
    over.store(true, Ordering::SeqCst);
    let lasted = watching.join().expect("the watch");
    let timed_out = outcomes(place.path()).iter().filter(|line| line["error"]["kind"] == "timeout").count();
    assert_eq!(timed_out, holders);
    let longest = lasted.values().copied().max().expect("programs").saturating_sub(DEADLINE);
    assert_eq!(lasted.len(), holders, "every program was seen, and its end");
    println!("R8: {} holders gone within {longest:?} of the deadline, {:?}", lasted.len(), begun.elapsed());
    assert!(longest <= slack(Duration::from_millis(500)), "{longest:?}");
    let listed = std::fs::read_to_string(&pids).expect("the pids");
    let only: String =
        listed.lines().filter_map(|line| line.rsplit_once(' ')).map(|(two, _)| format!("{two}\n")).collect();
    std::fs::write(&pids, only).expect("a file");
    gone_within_a_second(&pids);
}
