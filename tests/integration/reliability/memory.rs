//! R5: memory does not grow with the texts of the cases.

use std::fmt::Write as _;
use std::io::{BufRead as _, Read as _, Seek as _, Write as _};
use std::process::Stdio;
use std::time::{Duration, Instant};

use super::sized;
use crate::command::{checked, command, folder, report, verdict};

/// Bytes that a case may take to the end of the run: its numbers, whatever the length of its texts.
const PER_CASE: u64 = 1_024;

/// Peak resident memory in KiB of a run over `cases` cases of 1 KiB (at the small size 4 KiB, which must not show), and how long it took.
fn peak(cases: usize) -> (u64, Duration) {
    let suite = "version: 1\nname: memory\ndataset: { path: data.jsonl }\nevaluators:\n  length: { min: 1 }\n  exact_match: {}\n  contains: { value: answer }\ngate:\n  metrics:\n    exact_match: { min: 0.4 }\n  min_measured: 1\n";
    let place = folder(&[("scoregate.yaml", suite)]);
    let file = std::fs::File::create(place.path().join("data.jsonl")).expect("a file");
    let mut file = std::io::BufWriter::new(file);
    let filling = "x".repeat(sized(1_800, 430));
    let mut row = String::new();
    for at in 0..cases {
        row.clear();
        // Every other answer is another one.
        let said = at - at % 2;
        write!(row, "{{\"id\":\"q{at}\",\"input\":\"question {at}?\",\"reference\":\"answer {at} {filling}\",\"answer\":\"answer {said} {filling}\"}}")
            .expect("memory");
        writeln!(file, "{row}").expect("a disk");
    }
    drop(file);
    let begun = Instant::now();
    // With one arena: what each thread's own keeps back for later is noise of the allocator, and no growth.
    let mut command = command(place.path(), &["run"]);
    command.env("MALLOC_ARENA_MAX", "1");
    let child = command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().expect("a run");
    let status = format!("/proc/{}/status", child.id());
    let watch = std::thread::spawn(move || {
        let mut peak = 0;
        while let Ok(text) = std::fs::read_to_string(&status) {
            // A process that has ended has none.
            let Some(line) = text.lines().find(|line| line.starts_with("VmHWM:")) else { break };
            let kib = line.split_whitespace().nth(1).expect("a number").parse().expect("KiB");
            peak = u64::max(peak, kib);
            std::thread::sleep(Duration::from_millis(2));
        }
        peak
    });
    let output = child.wait_with_output().expect("an end");
    let took = begun.elapsed();
    let peak = watch.join().expect("the watch");
    checked(&output, 0);
    assert_eq!(verdict(place.path())["cases"]["cells_scored"], 3 * cases);
    let open = |name: &str| std::fs::File::open(place.path().join("scoregate-out").join(name)).expect("a report");
    assert_eq!(std::io::BufReader::new(open("results.jsonl")).split(b'\n').count(), cases + 2);
    let (mut junit, mut end) = (open("junit.xml"), String::new());
    junit.seek(std::io::SeekFrom::End(-20)).expect("a long file");
    junit.read_to_string(&mut end).expect("text");
    assert!(end.trim_end().ends_with("</testsuites>"), "{end}");
    assert!(report(place.path(), "comment.md").contains("scores measured (100%)"));
    (peak, took)
}

#[test]
fn memory_grows_by_a_case_s_numbers_and_not_by_its_texts() {
    let cases = sized(5_000, 1_000_000);
    let (few, _) = peak(cases / 10);
    let (many, took) = peak(cases);
    let rate = cases as f64 / took.as_secs_f64();
    println!("R5: {cases} cases {} MiB, {} cases {} MiB, {rate:.0} cases/s", many / 1024, cases / 10, few / 1024);
    assert!(
        few > 0 && many.saturating_sub(few) <= (cases - cases / 10) as u64 * PER_CASE / 1024,
        "{few} and {many} KiB"
    );
}
