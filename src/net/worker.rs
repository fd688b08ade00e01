//! Programs that live on: one line in, one line out, again and again.
//!
//! A worker that has answered waits for the next question of the same program; one that fails, is late, or says more than it was
//! asked is killed with everything it started. Workers end with the [`Workers`] that hold them.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use tokio::io::{AsyncBufReadExt as _, AsyncRead, AsyncReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::process::{Child, ChildStdin, ChildStdout};
use tokio::task::JoinHandle;

use super::excerpt::one_line;
use super::group::Group;
use super::process::{complaint, ending, failed, start};
use super::{CommandRequest, OUTPUT_LIMIT, Rejection, Response, STDERR_LIMIT};
use crate::domain::{Env, FailureKind, RetryClass};

/// How long a program that closed its output may take to end, so that its last words can be told.
const LAST_WORDS: Duration = Duration::from_millis(200);

/// What makes two questions ones of the same worker: program, environment, credentials, folder.
type Key = String;

/// The idle workers of a run.
#[derive(Default)]
pub(super) struct Workers(Mutex<HashMap<Key, Vec<Worker>>>);

/// A running program.
struct Worker {
    child: Child,
    _group: Group,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
    errors: Errors,
    /// Ends with the standard error.
    gathering: JoinHandle<()>,
}

/// The end of a program's standard error.
#[derive(Clone, Default)]
struct Errors(Arc<Mutex<Vec<u8>>>);

impl Errors {
    async fn gather(self, mut stream: impl AsyncRead + Unpin) {
        let mut buffer = vec![0; 8 * 1024];
        while let Ok(count @ 1..) = stream.read(&mut buffer).await {
            let mut bytes = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            bytes.extend_from_slice(buffer.get(..count).unwrap_or_default());
            let surplus = bytes.len().saturating_sub(STDERR_LIMIT);
            drop(bytes.drain(..surplus));
        }
    }

    fn words(&self) -> String {
        match complaint(&self.0.lock().unwrap_or_else(PoisonError::into_inner)) {
            words if words.is_empty() => words,
            words => format!(": {words}"),
        }
    }
}

/// Why a line did not come.
enum NoLine {
    /// The program ended, or closed its output.
    Ended,
    TooLong,
    /// More than one line came.
    TooMany,
}

impl Workers {
    /// Asks a worker of this program, a new one if none is idle.
    ///
    /// **Returns** its line as body, as [`super::process::run`] returns an output.
    ///
    /// # Errors
    /// It could not be started, ended, was late, or did not answer with exactly one line.
    pub(super) async fn ask(
        &self,
        env: &Env,
        request: &CommandRequest,
        deadline: Duration,
    ) -> Result<Response, Rejection> {
        let program = format!("`{}`", one_line(request.argv.first().map(String::as_str).unwrap_or_default()));
        let key = key(request);
        let begun = Instant::now();
        // An idle worker may have ended meanwhile: that says nothing about this question.
        while let Some(mut worker) = self.idle(&key) {
            match tokio::time::timeout(deadline, worker.answer(&request.stdin)).await {
                Ok(Ok(line)) => return Ok(self.done(key, worker, (line, begun))),
                Ok(Err(NoLine::Ended)) => {}
                Ok(Err(no_line)) => return Err(worker.rejection(&no_line, &program).await),
                Err(_) => return Err(late(&program, deadline)),
            }
        }
        // Whoever gives up waiting drops the worker, and its group with it.
        let mut worker = Worker::start(env, request, &program)?;
        match tokio::time::timeout(deadline, worker.answer(&request.stdin)).await {
            Ok(Ok(line)) => Ok(self.done(key, worker, (line, begun))),
            Ok(Err(no_line)) => Err(worker.rejection(&no_line, &program).await),
            Err(_) => Err(late(&program, deadline)),
        }
    }

    fn idle(&self, key: &Key) -> Option<Worker> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).get_mut(key)?.pop()
    }

    fn done(&self, key: Key, worker: Worker, (line, begun): (Vec<u8>, Instant)) -> Response {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).entry(key).or_default().push(worker);
        Response { status: 0, headers: Vec::new(), body: line.into(), latency: begun.elapsed() }
    }
}

impl Worker {
    fn start(env: &Env, request: &CommandRequest, program: &str) -> Result<Self, Rejection> {
        let mut child = start(env, request, program)?;
        let group = Group::of(&child);
        let (Some(input), Some(output), Some(errors)) = (child.stdin.take(), child.stdout.take(), child.stderr.take())
        else {
            return Err(failed(format!("{program} could not be spoken to")));
        };
        let gathered = Errors::default();
        let gathering = tokio::spawn(gathered.clone().gather(errors));
        Ok(Self { child, _group: group, input, output: BufReader::new(output), errors: gathered, gathering })
    }

    async fn answer(&mut self, question: &[u8]) -> Result<Vec<u8>, NoLine> {
        let written = async {
            self.input.write_all(question).await?;
            if !question.ends_with(b"\n") {
                self.input.write_all(b"\n").await?;
            }
            self.input.flush().await
        };
        if written.await.is_err() {
            return Err(NoLine::Ended);
        }
        let mut line = Vec::new();
        let most = OUTPUT_LIMIT as u64 + 1;
        let read = (&mut self.output).take(most).read_until(b'\n', &mut line).await;
        if line.len() > OUTPUT_LIMIT {
            return Err(NoLine::TooLong);
        }
        if read.is_err() || line.pop() != Some(b'\n') {
            return Err(NoLine::Ended);
        }
        if !self.output.buffer().is_empty() {
            return Err(NoLine::TooMany);
        }
        Ok(line)
    }

    async fn rejection(mut self, why: &NoLine, program: &str) -> Rejection {
        match why {
            NoLine::TooLong => failed(format!("{program} printed a line of more than 16 MiB, the output limit")),
            NoLine::TooMany => failed(format!("{program} printed more than one line for one question, and was killed")),
            NoLine::Ended => {
                let ended = match tokio::time::timeout(LAST_WORDS, self.child.wait()).await {
                    Ok(Ok(status)) => ending(status),
                    Ok(Err(_)) | Err(_) => "closed its output".to_owned(),
                };
                let _ = tokio::time::timeout(LAST_WORDS, &mut self.gathering).await;
                failed(format!("{program} {ended} instead of answering with a line{}", self.errors.words()))
            }
        }
    }
}

fn late(program: &str, deadline: Duration) -> Rejection {
    let why = format!("{program} did not answer within {} s and was killed", deadline.as_secs_f64());
    Rejection::new(FailureKind::Timeout, RetryClass::Case, why)
}

/// Credentials are compared, never shown: the key stays in this process.
fn key(request: &CommandRequest) -> Key {
    let mut key = format!("{:?} {:?} {:?}", request.argv, request.environment, request.folder);
    for (name, secret) in &request.credentials {
        key.push_str(&format!(" {name:?}={:?}", secret.expose()));
    }
    key
}

#[cfg(all(test, unix))]
mod tests {
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
}
