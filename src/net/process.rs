//! One run of a program: arguments as they are, no shell, an allow-listed environment, and an end at the deadline for it and
//! everything it started.

use std::io::ErrorKind;
use std::process::{ExitStatus, Stdio};
use std::time::{Duration, Instant};

use bytes::Bytes;
use tokio::io::AsyncWriteExt;
use tokio::process::{Child, Command};

use super::capture::Capture;
use super::excerpt::{excerpt, one_line};
use super::group::Group;
use super::{CommandRequest, Rejection, Response};
use crate::domain::{Env, FailureKind, RetryClass};

/// The most that a program may print on standard output.
pub const OUTPUT_LIMIT: usize = 16 * 1024 * 1024;
/// The part of standard error that is kept: its end.
pub const STDERR_LIMIT: usize = 64 * 1024;
/// After a program has ended, its output is complete; what its children still print is waited for this long.
const AFTERMATH: Duration = Duration::from_millis(200);

/// What a program gets to see of our environment, besides `LC_*`.
const ALLOWED: [&str; 23] = [
    "PATH",
    "HOME",
    "USER",
    "LOGNAME",
    "LANG",
    "LANGUAGE",
    "TZ",
    "TMPDIR",
    "TMP",
    "TEMP",
    "VIRTUAL_ENV",
    "SYSTEMROOT",
    "SYSTEMDRIVE",
    "WINDIR",
    "COMSPEC",
    "PATHEXT",
    "USERPROFILE",
    "APPDATA",
    "LOCALAPPDATA",
    "PROGRAMDATA",
    "PROGRAMFILES",
    "NUMBER_OF_PROCESSORS",
    "PROCESSOR_ARCHITECTURE",
];

/// Runs the program to its end.
///
/// **Returns** exit code 0 as status 0, standard output as body, an excerpt of standard error as header `stderr`.
///
/// # Errors
/// It could not be started, ended with another code, printed too much, or was still running at the deadline.
pub(super) async fn run(env: &Env, request: &CommandRequest, deadline: Duration) -> Result<Response, Rejection> {
    let program = format!("`{}`", one_line(request.argv.first().map(String::as_str).unwrap_or_default()));
    let begun = Instant::now();
    let mut child = start(env, request, &program)?;
    let mut group = Group::of(&child);
    let ended = tokio::time::timeout(deadline, talk(&mut child, request.stdin.clone())).await;
    // Whatever it left behind; and everything, where it is still running.
    group.kill();
    let Ok(ended) = ended else {
        let _ = child.start_kill();
        let _ = tokio::time::timeout(AFTERMATH, child.wait()).await;
        let why = format!("{program} was still running after {} s and was killed", deadline.as_secs_f64());
        return Err(Rejection::new(FailureKind::Timeout, RetryClass::Case, why));
    };
    let output = ended.map_err(|error| failed(format!("{program} could not be listened to: {error}")))?;
    if output.stdout.overflowed() {
        return Err(failed(format!("{program} printed more than 16 MiB, the output limit of a program")));
    }
    let complaint = complaint(output.stderr.bytes());
    if !output.status.success() {
        let words = if complaint.is_empty() { String::new() } else { format!(": {complaint}") };
        return Err(failed(format!("{program} {}{words}", ending(output.status))));
    }
    let headers = if complaint.is_empty() { Vec::new() } else { vec![("stderr".to_owned(), complaint)] };
    Ok(Response { status: 0, headers, body: output.stdout.into_bytes().into(), latency: begun.elapsed() })
}

pub(super) fn start(env: &Env, request: &CommandRequest, program: &str) -> Result<Child, Rejection> {
    let (Some(name), arguments) = (request.argv.first(), request.argv.get(1..).unwrap_or_default()) else {
        return Err(unusable("there is no program to run".to_owned()));
    };
    if request.argv.iter().any(|argument| argument.contains('\0')) {
        let why = format!("an argument of {program} holds a NUL character, which no program can be given");
        return Err(Rejection::new(FailureKind::BadRequest, RetryClass::Case, why));
    }
    let mut command = Command::new(name);
    command
        .args(arguments)
        .env_clear()
        .envs(child_environment(env))
        .envs(request.environment.iter().map(|(name, value)| (name, value)))
        .envs(request.credentials.iter().map(|(name, secret)| (name, secret.expose())))
        .current_dir(&request.folder)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .kill_on_drop(true);
    #[cfg(unix)]
    command.process_group(0);
    command.spawn().map_err(|error| not_started(program, &error))
}

fn not_started(program: &str, error: &std::io::Error) -> Rejection {
    match error.kind() {
        ErrorKind::NotFound => unusable(format!(
            "{program} was not found: give a program on the PATH, or a path from the suite's folder such as `./{}`",
            program.trim_matches('`')
        )),
        ErrorKind::PermissionDenied => unusable(format!("{program} may not be run: is it executable?")),
        ErrorKind::ArgumentListTooLong => failed(format!(
            "the arguments of {program} are longer than the system allows: pass the text on standard input"
        )),
        _ => unusable(format!("{program} could not be started: {error}")),
    }
}

/// The part of our environment that any program may see.
pub fn child_environment(env: &Env) -> impl Iterator<Item = (&str, &str)> {
    env.names().filter(|name| is_allowed(name)).filter_map(|name| Some((name, env.get_even_empty(name)?)))
}

fn is_allowed(name: &str) -> bool {
    let name = name.to_ascii_uppercase();
    name.starts_with("LC_") || ALLOWED.contains(&name.as_str())
}

struct Output {
    status: ExitStatus,
    stdout: Capture,
    stderr: Capture,
}

/// Writes standard input, reads both outputs, waits for the end.
async fn talk(child: &mut Child, stdin: Bytes) -> std::io::Result<Output> {
    let (input, out, err) = (child.stdin.take(), child.stdout.take(), child.stderr.take());
    let (mut stdout, mut stderr) = (Capture::head(OUTPUT_LIMIT), Capture::tail(STDERR_LIMIT));
    let status = {
        let write = async move {
            if let Some(mut input) = input {
                // A program need not read what it is given; dropping the pipe closes it.
                let _ = input.write_all(&stdin).await;
                let _ = input.shutdown().await;
            }
        };
        let read = async {
            tokio::join!(stdout.read(out), stderr.read(err));
        };
        tokio::pin!(read, write);
        let (mut all_read, mut all_written) = (false, false);
        let status = loop {
            tokio::select! {
                () = &mut read, if !all_read => all_read = true,
                () = &mut write, if !all_written => all_written = true,
                status = child.wait() => break status?,
            }
        };
        if !all_read {
            // A child of the program's may hold the pipes open for ever.
            let _ = tokio::time::timeout(AFTERMATH, &mut read).await;
        }
        status
    };
    Ok(Output { status, stdout, stderr })
}

/// The last lines of standard error: programs say last what went wrong.
pub(super) fn complaint(stderr: &[u8]) -> String {
    let text = String::from_utf8_lossy(stderr);
    let lines: Vec<&str> = text.lines().filter(|line| !line.trim().is_empty()).collect();
    let last = lines.get(lines.len().saturating_sub(3)..).unwrap_or_default().join(" / ");
    excerpt(last.as_bytes())
}

pub(super) fn ending(status: ExitStatus) -> String {
    #[cfg(unix)]
    if let Some(signal) = std::os::unix::process::ExitStatusExt::signal(&status) {
        return format!("was ended by signal {signal}");
    }
    status.code().map_or_else(|| "ended without an exit code".to_owned(), |code| format!("ended with exit code {code}"))
}

pub(super) fn failed(message: String) -> Rejection {
    Rejection::new(FailureKind::Command, RetryClass::Case, message)
}

fn unusable(message: String) -> Rejection {
    Rejection::new(FailureKind::Command, RetryClass::Endpoint, message)
}

#[cfg(all(test, unix))]
pub(super) mod tests;
