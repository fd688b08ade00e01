use super::*;
use crate::domain::Usage;

fn end(requests: u64, cost: Option<f64>) -> Completion {
    Completion {
        complete: true,
        reason: None,
        outcomes: 0,
        calls: CallCounts { requests, ..CallCounts::default() },
        usage: Usage { prompt_tokens: requests, completion_tokens: 0 },
        cost: cost.map(Usd),
        scores: crate::domain::ScoreCounts::default(),
        elapsed_ms: 5,
    }
}

/// What both took; the caller counts on.
fn together(before: Completion, more: Completion) -> Completion {
    let again = Run { completion: Some(more), ..Run::default() };
    let mut sum = before;
    count_in(&again, &mut sum);
    sum
}

#[test]
fn a_cost_is_known_where_both_parts_are() {
    let cost = |before, more| together(before, more).cost.map(|Usd(usd)| usd);
    assert_eq!(cost(end(3, Some(0.5)), end(4, Some(0.25))), Some(0.75));
    assert_eq!(cost(end(3, None), end(4, Some(0.25))), None, "a part is not the sum");
    assert_eq!(cost(end(3, Some(0.5)), end(4, None)), None);
    assert_eq!(cost(end(3, Some(0.5)), end(3, None)), Some(0.5), "nothing was sent for it");
    assert_eq!(cost(end(0, None), end(4, Some(0.25))), Some(0.25));
    assert_eq!(cost(end(0, None), end(0, None)), None);
    let sum = together(end(3, None), end(4, None));
    assert_eq!((sum.calls.requests, sum.usage.prompt_tokens, sum.elapsed_ms), (4, 7, 10));
}

#[tokio::test]
async fn a_plan_is_waited_for_and_never_for_ever() {
    let shared = Arc::new(7);
    let held = Arc::clone(&shared);
    let job = tokio::spawn(async move {
        tokio::time::sleep(BETWEEN).await;
        drop(held);
    });
    assert_eq!(alone(shared).await, Some(7), "a job that is about to end");
    job.await.expect("it ends");
    let shared = Arc::new(7);
    let _held = Arc::clone(&shared);
    assert_eq!(alone(shared).await, None);
}
