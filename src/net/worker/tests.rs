use bytes::Bytes;

use super::*;

fn request(script: &str, line: &str) -> CommandRequest {
    CommandRequest {
        argv: ["sh", "-c", script].map(str::to_owned).to_vec(),
        stdin: Bytes::from(line.to_owned()),
        environment: Vec::new(),
        credentials: Vec::new(),
        folder: std::env::temp_dir(),
        worker: true,
    }
}

async fn asked(workers: &Workers, script: &str, line: &str, millis: u64) -> Result<String, Rejection> {
    let env = Env::from_pairs([("PATH", "/usr/local/bin:/usr/bin:/bin")]);
    let response = workers.ask(&env, &request(script, line), Duration::from_millis(millis)).await?;
    Ok(String::from_utf8(response.body.to_vec()).expect("UTF-8"))
}

const ECHO: &str = "n=0; while read -r line; do n=$((n+1)); echo \"$n $line\"; done";

#[tokio::test]
async fn one_program_answers_line_after_line() {
    let workers = Workers::default();
    assert_eq!(asked(&workers, ECHO, "a", 5_000).await.unwrap(), "1 a");
    assert_eq!(asked(&workers, ECHO, "b\n", 5_000).await.unwrap(), "2 b");
    // Another program is another worker.
    assert_eq!(asked(&workers, &format!("{ECHO} #"), "c", 5_000).await.unwrap(), "1 c");
}

#[tokio::test]
async fn a_worker_that_ended_is_replaced_and_one_that_ends_without_a_word_is_an_error() {
    let workers = Workers::default();
    let once = "read -r line; echo \"$line\"";
    for _ in 0..3 {
        assert_eq!(asked(&workers, once, "x", 5_000).await.unwrap(), "x");
    }
    let rejection = asked(&workers, "echo broken >&2; exit 3", "x", 5_000).await.unwrap_err();
    assert_eq!((rejection.kind, rejection.class), (FailureKind::Command, RetryClass::Case));
    assert!(rejection.message.contains("exit code 3") && rejection.message.contains("broken"), "{rejection:?}");
}

#[tokio::test]
async fn a_late_worker_is_killed_with_its_children_and_a_talkative_one_is_not_believed() {
    let folder = tempfile::tempdir().unwrap();
    let pids = folder.path().join("pids");
    let script = format!("sleep 60 & echo $! $$ > {}; sleep 50", pids.display());
    let rejection = asked(&Workers::default(), &script, "x", 700).await.unwrap_err();
    assert_eq!(rejection.kind, FailureKind::Timeout);
    assert!(super::super::process::tests::all_gone(&std::fs::read_to_string(pids).unwrap()).await);
    let rejection = asked(&Workers::default(), "read -r l; printf '1\\n2\\n'; sleep 5", "x", 5_000).await;
    let rejection = rejection.unwrap_err();
    assert!(rejection.message.contains("more than one line"), "{rejection:?}");
}

fn idle(workers: &Workers) -> usize {
    workers.0.lock().unwrap_or_else(PoisonError::into_inner).values().map(Vec::len).sum()
}

#[tokio::test]
async fn a_question_that_ends_its_worker_ends_no_third_one() {
    let workers = Workers::default();
    let script = "while read -r line; do [ \"$line\" = crash ] && exit 3; echo \"$line\"; done";
    let three = tokio::join!(
        asked(&workers, script, "a", 5_000),
        asked(&workers, script, "b", 5_000),
        asked(&workers, script, "c", 5_000)
    );
    assert_eq!((three.0.unwrap().as_str(), three.2.unwrap().as_str(), idle(&workers)), ("a", "c", 3));
    let rejection = asked(&workers, script, "crash", 5_000).await.unwrap_err();
    assert!(rejection.message.contains("exit code 3"), "{rejection:?}");
    assert_eq!(idle(&workers), 2, "an idle one and a new one were tried");
    assert_eq!(asked(&workers, script, "d", 5_000).await.unwrap(), "d");
}

#[tokio::test]
async fn what_a_worker_says_unasked_answers_no_later_question() {
    let folder = tempfile::tempdir().unwrap();
    let said = folder.path().join("said");
    let script = format!(
        "read -r line; echo \"$line\"; sleep 0.05; echo surplus; touch {}; read -r line; echo \"$line\"",
        said.display()
    );
    let workers = Workers::default();
    assert_eq!(asked(&workers, &script, "a", 5_000).await.unwrap(), "a");
    assert_eq!(idle(&workers), 1);
    while !said.exists() {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    tokio::time::sleep(Duration::from_millis(5)).await;
    assert_eq!(asked(&workers, &script, "b", 5_000).await.unwrap(), "b");
}

#[tokio::test]
async fn a_worker_that_answers_another_question_is_asked_no_more() {
    let workers = Workers::default();
    let script = "while read -r line; do echo '{\"id\": \"1\", \"score\": 1}'; done";
    asked(&workers, script, "{\"id\": \"1\"}", 5_000).await.unwrap();
    assert_eq!(idle(&workers), 1);
    asked(&workers, script, "{\"id\": \"2\"}", 5_000).await.unwrap();
    assert_eq!(idle(&workers), 0);
}

/// `cat` answers while it is asked; a pipe holds 64 KiB.
#[tokio::test]
async fn a_long_question_is_read_while_it_is_answered() {
    let question = "x".repeat(1 << 20);
    assert_eq!(asked(&Workers::default(), "exec cat", &question, 20_000).await.unwrap(), question);
}

#[tokio::test]
async fn idle_workers_end_with_those_who_hold_them() {
    let folder = tempfile::tempdir().unwrap();
    let pids = folder.path().join("pids");
    let script = format!("sleep 60 & echo $! $$ > {}; {ECHO}", pids.display());
    let workers = Workers::default();
    assert_eq!(asked(&workers, &script, "x", 5_000).await.unwrap(), "1 x");
    drop(workers);
    assert!(super::super::process::tests::all_gone(&std::fs::read_to_string(pids).unwrap()).await);
}
