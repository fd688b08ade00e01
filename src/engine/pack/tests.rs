//! Who waits for whom, whatever the order in which they come.

use std::sync::Mutex;
use std::time::Duration;

use super::*;
use crate::domain::{Digest, Failure, FailureKind, Measurement, Place, Reading, ScoreKind};
use crate::evaluator::Packing;
use crate::net::{Accept, BoxFuture, Call, Receipt};

/// Scores by input, and remembers who was asked about together.
#[derive(Default)]
struct Panel {
    size: usize,
    packs: Mutex<Vec<Vec<String>>>,
    alone: Mutex<Vec<String>>,
    /// Breaks down when it is asked about several.
    breaks: bool,
    /// Says nothing of the last one.
    forgets: bool,
}

fn asked(subject: Subject<'_>) -> Asked {
    let said = Reading::new(ScoreKind::UNIT, 0.5).unwrap().because(subject.case.input.clone());
    Asked::nobody(Measurement::Value(said))
}

impl Evaluator for Panel {
    fn evaluate<'a>(&'a self, subject: Subject<'a>, _: &'a dyn Transport) -> BoxFuture<'a, Asked> {
        self.alone.lock().unwrap().push(subject.case.input.clone());
        Box::pin(std::future::ready(asked(subject)))
    }

    fn packing(&self) -> Option<Packing> {
        Some(Packing { size: self.size, ..Packing::default() })
    }

    fn evaluate_together<'a>(&'a self, subjects: &'a [Subject<'a>], _: &'a dyn Transport) -> BoxFuture<'a, Vec<Asked>> {
        Box::pin(async move {
            let inputs = subjects.iter().map(|subject| subject.case.input.clone()).collect();
            self.packs.lock().unwrap().push(inputs);
            tokio::task::yield_now().await;
            assert!(!self.breaks, "a panel that breaks down");
            let told = subjects.len() - usize::from(self.forgets);
            subjects.iter().take(told).map(|subject| asked(*subject)).collect()
        })
    }
}

struct Nobody;

impl Transport for Nobody {
    fn send<'a>(&'a self, _: &'a Call, _: &'a Accept<'a>) -> BoxFuture<'a, Result<Receipt, Failure>> {
        Box::pin(std::future::ready(Err(Failure::infra(FailureKind::Internal, "nobody is called"))))
    }
}

fn case(place: usize) -> Arc<Case> {
    Arc::new(Case {
        id: format!("q{place}").into(),
        index: place,
        input: place.to_string(),
        reference: None,
        contexts: Vec::new(),
        expected_contexts: Vec::new(),
        tags: Vec::new(),
        cluster: None,
        metadata: serde_json::Map::new(),
        recorded: None,
        place: Place { file: "questions.jsonl".into(), line: 1 },
        content: Digest::of([place.to_string()]),
    })
}

/// Runs `count` jobs of one target and trial, those of `silent` without an answer, arriving in the order of `delay`.
async fn run(panel: Panel, count: usize, silent: &[usize], delay: fn(usize) -> u64) -> (Arc<Panel>, Vec<String>) {
    let panel = Arc::new(panel);
    let packs = Arc::new(Packs::of(vec![panel.size], 1, 1));
    let mut tasks = Vec::new();
    for place in 0..count {
        packs.begin();
        let member = packs.member(Spot { place, target: 0, trial: 0 });
        let (panel, silent) = (Arc::clone(&panel), silent.contains(&place));
        tasks.push(tokio::spawn(async move {
            tokio::time::sleep(Duration::from_millis(delay(place))).await;
            if silent {
                drop(member);
                return None;
            }
            let answer = Arc::new(Answer::default());
            let asked = member.ask(0, &*panel, &case(place), &answer, &Nobody).await;
            let Measurement::Value(reading) = asked.measurement else { panic!("no value") };
            reading.reason
        }));
    }
    packs.close();
    let mut said = Vec::new();
    for task in tasks {
        said.extend(task.await.ok().flatten());
    }
    assert!(packs.desk().open.is_empty(), "a pack was left behind");
    (panel, said)
}

fn packs_of(panel: &Panel) -> Vec<Vec<String>> {
    let mut packs = panel.packs.lock().unwrap().clone();
    packs.sort();
    packs
}

fn panel(size: usize) -> Panel {
    Panel { size, ..Panel::default() }
}

#[tokio::test]
async fn packs_are_the_same_in_whatever_order_their_members_come() {
    let orders: [fn(usize) -> u64; 3] =
        [|place| place as u64, |place| 100 - place as u64, |place| (place as u64 * 37) % 11];
    for order in orders {
        let (panel, said) = run(panel(3), 8, &[], order).await;
        assert_eq!(packs_of(&panel), [vec!["0", "1", "2"], vec!["3", "4", "5"], vec!["6", "7"]]);
        assert_eq!(said, ["0", "1", "2", "3", "4", "5", "6", "7"], "each is told what concerns itself");
        assert!(panel.alone.lock().unwrap().is_empty());
    }
}

#[tokio::test]
async fn who_has_no_answer_is_not_waited_for() {
    // First, last and in between; a whole pack; all but one.
    let orders: [fn(usize) -> u64; 2] = [|place| place as u64, |place| 100 - place as u64];
    for order in orders {
        let (panel, said) = run(panel(3), 9, &[0, 2, 3, 4, 5, 7], order).await;
        assert_eq!(packs_of(&panel), [vec!["1"], vec!["6", "8"]]);
        assert_eq!(said, ["1", "6", "8"]);
    }
}

#[tokio::test]
async fn who_leads_and_breaks_down_costs_nobody_else() {
    let (told, said) = run(Panel { breaks: true, ..panel(3) }, 3, &[], |place| place as u64).await;
    // The leader's own task ends with its panic.
    assert_eq!(said, ["0", "1"]);
    assert_eq!(told.alone.lock().unwrap().len(), 2);
    let (told, said) = run(Panel { forgets: true, ..panel(3) }, 3, &[], |place| place as u64).await;
    assert_eq!(said, ["0", "1", "2"]);
    assert_eq!(*told.alone.lock().unwrap(), ["2"], "who was forgotten asks alone");
}

#[tokio::test]
async fn an_ended_run_leaves_nobody_waiting() {
    let panel = Arc::new(panel(5));
    let packs = Arc::new(Packs::of(vec![5], 1, 1));
    packs.begin();
    let member = packs.member(Spot { place: 0, target: 0, trial: 0 });
    let one = Arc::clone(&panel);
    let task = tokio::spawn(async move { member.ask(0, &*one, &case(0), &Arc::new(Answer::default()), &Nobody).await });
    tokio::time::sleep(Duration::from_millis(5)).await;
    assert!(!task.is_finished() && packs_of(&panel).is_empty());
    packs.close();
    task.await.unwrap();
    assert_eq!(packs_of(&panel), [vec!["0"]]);
}

#[test]
fn trials_and_targets_are_packs_of_their_own() {
    let packs = Packs::of(vec![1, 4], 2, 3);
    let key = |place, target, trial| packs.key(1, Spot { place, target, trial });
    assert!(key(0, 0, 0) == key(3, 0, 0) && key(0, 0, 0) != key(4, 0, 0));
    assert!(key(0, 0, 0) != key(0, 1, 0) && key(0, 0, 0) != key(0, 0, 1));
    // Two whole cases and two trials of the third have begun: its first target has them, its second has none.
    let end = Some(2 * 6 + 2);
    assert_eq!(packs.members(key(0, 0, 1), end), 3);
    assert_eq!(packs.members(key(0, 0, 2), end), 2);
    assert_eq!(packs.members(key(0, 1, 0), end), 2);
    assert_eq!(packs.members(key(0, 0, 0), None), 4);
}

#[test]
fn the_window_holds_whole_packs() {
    assert_eq!(Packs::of(vec![1, 1], 2, 3).window(32), 32);
    assert_eq!(Packs::of(vec![1, 5], 1, 1).window(32), 160);
    assert_eq!(Packs::of(vec![20], 4, 100).window(32), 16_000);
    assert_eq!(Packs::of(vec![20], 1, 1).window(4_096), 4_096);
}
