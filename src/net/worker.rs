//! Programs that live on: one line in, one line out, again and again.
//!
//! A worker that has answered waits for the next question of the same program; one that fails, is late, says more than it was asked
//! or answers another question is killed with everything it started. Workers end with the [`Workers`] that hold them.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use futures_util::FutureExt as _;
use serde::Deserialize;
use serde_json::Value;
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
        // Whoever gives up waiting drops the worker, and its group with it.
        let asked = tokio::time::timeout(deadline, async {
            if let Some(mut worker) = self.idle(&key).await {
                match worker.answer(&request.stdin).await {
                    // It may have ended while it waited, which says nothing about this question; or of the question, which is
                    // found out on a new one. No other idle worker is tried: it might end the same way.
                    Err(NoLine::Ended) => {}
                    answer => return Ok((answer, worker)),
                }
            }
            let mut worker = Worker::start(env, request, &program)?;
            Ok((worker.answer(&request.stdin).await, worker))
        });
        match asked.await {
            Ok(Ok((Ok(line), worker))) => Ok(self.done(key, worker, &request.stdin, (line, begun))),
            Ok(Ok((Err(no_line), worker))) => Err(worker.rejection(&no_line, &program).await),
            Ok(Err(rejection)) => Err(rejection),
            Err(_) => Err(late(&program, deadline)),
        }
    }

    /// A worker that waits for a question. Those that ended or said something unasked meanwhile are dropped.
    async fn idle(&self, key: &Key) -> Option<Worker> {
        loop {
            let mut worker = self.0.lock().unwrap_or_else(PoisonError::into_inner).get_mut(key)?.pop()?;
            if worker.waits().await {
                return Some(worker);
            }
        }
    }

    fn done(&self, key: Key, worker: Worker, question: &[u8], (line, begun): (Vec<u8>, Instant)) -> Response {
        // Who answered another question would do so again: each of its lines would be one behind. The reader refuses this one.
        if id(question).is_none_or(|asked| id(&line) == Some(asked)) {
            self.0.lock().unwrap_or_else(PoisonError::into_inner).entry(key).or_default().push(worker);
        }
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

    /// Whether it still runs and has said nothing that it was not asked.
    async fn waits(&mut self) -> bool {
        // What has arrived is noticed by the runtime between two turns.
        tokio::task::yield_now().await;
        // Something to read, or the end of it.
        self.output.fill_buf().now_or_never().is_none()
    }

    async fn answer(&mut self, question: &[u8]) -> Result<Vec<u8>, NoLine> {
        let Self { input, output, .. } = self;
        let written = async {
            input.write_all(question).await?;
            if !question.ends_with(b"\n") {
                input.write_all(b"\n").await?;
            }
            input.flush().await
        };
        let written = async { written.await.map_err(|_| NoLine::Ended) };
        let read = async {
            let mut line = Vec::new();
            let most = OUTPUT_LIMIT as u64 + 1;
            let read = (&mut *output).take(most).read_until(b'\n', &mut line).await;
            if line.len() > OUTPUT_LIMIT {
                return Err(NoLine::TooLong);
            }
            if read.is_err() || line.pop() != Some(b'\n') {
                return Err(NoLine::Ended);
            }
            Ok(line)
        };
        // At once: a program may begin its answer before it has read the whole question, and a pipe holds little.
        let ((), line) = tokio::try_join!(written, read)?;
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

/// The question that a line is, or answers, where it says so.
fn id(line: &[u8]) -> Option<Value> {
    #[derive(Deserialize)]
    struct Line {
        id: Value,
    }
    serde_json::from_slice::<Line>(line).ok().map(|line| line.id)
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
mod tests;
