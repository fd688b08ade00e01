use super::*;
use proptest::prelude::*;

fn request(argv: &[&str]) -> CommandRequest {
    CommandRequest {
        argv: argv.iter().map(|argument| (*argument).to_owned()).collect(),
        stdin: Bytes::new(),
        environment: Vec::new(),
        credentials: Vec::new(),
        folder: std::env::temp_dir(),
        worker: false,
    }
}

fn env() -> Env {
    Env::from_pairs([("PATH", "/usr/local/bin:/usr/bin:/bin"), ("LC_ALL", "C"), ("OPENAI_API_KEY", "sk-secret-value")])
}

async fn carried_out(request: &CommandRequest, deadline: u64) -> Result<Response, Rejection> {
    run(&env(), request, Duration::from_millis(deadline)).await
}

#[tokio::test]
async fn cmd_grandchild() {
    let folder = tempfile::tempdir().unwrap();
    let pids = folder.path().join("pids");
    let script = format!("sleep 60 & echo $! $$ > {}; sleep 50", pids.display());
    let begun = Instant::now();
    let rejection = carried_out(&request(&["sh", "-c", &script]), 1_000).await.unwrap_err();
    assert_eq!((rejection.kind, rejection.class), (FailureKind::Timeout, RetryClass::Case));
    assert!(begun.elapsed() < Duration::from_millis(1_500), "{:?}", begun.elapsed());
    assert!(all_gone(&std::fs::read_to_string(pids).unwrap()).await);
}

#[tokio::test]
async fn a_cancelled_attempt_leaves_no_process() {
    let folder = tempfile::tempdir().unwrap();
    let pids = folder.path().join("pids");
    let script = format!("sleep 60 & echo $! $$ > {}; sleep 50", pids.display());
    let request = request(&["sh", "-c", &script]);
    let env = env();
    let written = async {
        while !std::fs::read_to_string(&pids).is_ok_and(|text| text.ends_with('\n')) {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    tokio::select! {
        _ = run(&env, &request, Duration::from_secs(60)) => panic!("it cannot end"),
        () = written => {}
    }
    assert!(all_gone(&std::fs::read_to_string(pids).unwrap()).await);
}

/// Whether the processes are dead (or waiting to be reaped) within a second.
pub(in crate::net) async fn all_gone(pids: &str) -> bool {
    let alive = |pid: &str| {
        let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        !stat.is_empty() && !stat.contains(") Z ")
    };
    for _ in 0..100 {
        if !pids.split_whitespace().any(alive) {
            return true;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    false
}

#[tokio::test]
async fn a_child_left_behind_holds_nothing_up() {
    let begun = Instant::now();
    let response = carried_out(&request(&["sh", "-c", "echo done; sleep 60 &"]), 20_000).await.unwrap();
    assert_eq!(&*response.body, b"done\n");
    assert!(begun.elapsed() < Duration::from_secs(2), "{:?}", begun.elapsed());
}

#[tokio::test]
async fn cmd_endless() {
    let busy = carried_out(&request(&["sh", "-c", "while :; do :; done"]), 300).await.unwrap_err();
    assert_eq!(busy.kind, FailureKind::Timeout);
    let printer =
        carried_out(&request(&["yes", "0123456789012345678901234567890123456789"]), 20_000).await.unwrap_err();
    assert_eq!(printer.kind, FailureKind::Command);
    assert!(printer.message.contains("16 MiB, the output limit"), "{}", printer.message);
    let complainer = carried_out(&request(&["sh", "-c", "yes >&2"]), 300).await.unwrap_err();
    assert_eq!(complainer.kind, FailureKind::Timeout);
    // Standard input is written and closed, so that `cat` ends.
    let reader = carried_out(&request(&["cat"]), 5_000).await.unwrap();
    assert!(reader.body.is_empty());
}

#[tokio::test]
async fn cmd_arguments() {
    let text = include_str!("../../../fixtures/cases/commands/arguments.jsonl");
    for line in text.lines() {
        let row: serde_json::Value = serde_json::from_str(line).unwrap();
        let input = row["input"].as_str().unwrap();
        let result = carried_out(&request(&["printf", "%s", input]), 5_000).await;
        if input.contains('\0') {
            let rejection = result.unwrap_err();
            assert_eq!((rejection.kind, rejection.class), (FailureKind::BadRequest, RetryClass::Case));
            assert!(rejection.message.contains("NUL"));
        } else {
            assert_eq!(&*result.unwrap().body, input.as_bytes());
        }
    }
}

#[tokio::test]
async fn a_program_sees_only_what_it_is_given() {
    let mut request = request(&["env"]);
    request.environment = vec![("MODE".to_owned(), "test".to_owned())];
    request.credentials = vec![("APP_KEY".to_owned(), crate::domain::Secret::new("APP_KEY", "named-secret").unwrap())];
    let body = carried_out(&request, 5_000).await.unwrap().body;
    let mut lines: Vec<&str> = std::str::from_utf8(&body).unwrap().lines().collect();
    lines.sort_unstable();
    assert_eq!(lines, ["APP_KEY=named-secret", "LC_ALL=C", "MODE=test", "PATH=/usr/local/bin:/usr/bin:/bin"]);
}

#[tokio::test]
async fn a_program_s_end_is_told_with_its_last_words() {
    let failed = carried_out(&request(&["sh", "-c", "echo first >&2; echo 'index is missing' >&2; exit 3"]), 5_000)
        .await
        .unwrap_err();
    assert_eq!((failed.kind, failed.class), (FailureKind::Command, RetryClass::Case));
    assert_eq!(failed.message, "`sh` ended with exit code 3: first / index is missing");
    let killed = carried_out(&request(&["sh", "-c", "kill -9 $$"]), 5_000).await.unwrap_err();
    assert_eq!(killed.message, "`sh` was ended by signal 9");
    let absent = carried_out(&request(&["no-such-program-here"]), 5_000).await.unwrap_err();
    assert_eq!((absent.kind, absent.class), (FailureKind::Command, RetryClass::Endpoint));
    let warned = carried_out(&request(&["sh", "-c", "echo careful >&2; echo ok"]), 5_000).await.unwrap();
    assert_eq!(warned.header("stderr"), Some("careful"));
}

#[tokio::test]
async fn large_input_and_output_pass_at_the_same_time() {
    let mut request = request(&["cat"]);
    request.stdin = Bytes::from(vec![b'x'; 3_000_000]);
    let response = carried_out(&request, 20_000).await.unwrap();
    assert_eq!(response.body.len(), 3_000_000);
}

proptest! {
    #[test]
    fn any_complaint_becomes_a_line(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
        prop_assert!(!complaint(&bytes).contains('\n'));
    }
}
