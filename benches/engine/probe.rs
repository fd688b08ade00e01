//! `probe LIMIT_MS FOLDER PROGRAM ARGUMENT…`: runs one program and prints what it took, as JSON.
//!
//! A process of its own, and a small one: the peak of a child's memory is never less than its parent's at the fork, and what the
//! children took is counted over all of them.

use std::fs::File;
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use crate::Error;
use crate::measured::Measured;

pub const ROLE: &str = "probe";

/// Where the program's own words go, in its folder.
pub const SCREEN: &str = "screen.txt";
pub const ERRORS: &str = "errors.txt";

/// # Errors
/// Where the program cannot be started or watched.
pub fn watch(arguments: &[String]) -> Result<(), Error> {
    let [limit, folder, program, rest @ ..] = arguments else {
        return Err("probe LIMIT_MS FOLDER PROGRAM ARGUMENT…".into());
    };
    let limit: u64 = limit.parse()?;
    let folder = Path::new(folder);
    let mut command = Command::new(program);
    command
        .args(rest)
        .current_dir(folder)
        .env_clear()
        .env("PATH", std::env::var_os("PATH").unwrap_or_default())
        .stdin(Stdio::null())
        .stdout(File::create(folder.join(SCREEN))?)
        .stderr(File::create(folder.join(ERRORS))?);
    let begun = Instant::now();
    let mut child = command.spawn().map_err(|error| format!("{program}: {error}"))?;
    let status = end(&mut child, limit)?;
    let wall = begun.elapsed().as_secs_f64();
    let (cpu, rss) = children()?;
    println!("{}", serde_json::to_string(&Measured { wall, cpu, rss, code: status.code() })?);
    Ok(())
}

/// Waits; kills the program first where there is a limit, and it is over.
fn end(child: &mut Child, limit: u64) -> Result<ExitStatus, Error> {
    if limit > 0 {
        std::thread::sleep(Duration::from_millis(limit));
        child.kill()?;
    }
    Ok(child.wait()?)
}

/// Seconds of CPU and peak MiB of the children that have ended.
#[cfg(unix)]
fn children() -> Result<(f64, f64), Error> {
    use nix::sys::resource::{UsageWho, getrusage};
    use nix::sys::time::TimeValLike as _;

    let usage = getrusage(UsageWho::RUSAGE_CHILDREN)?;
    let cpu = usage.user_time() + usage.system_time();
    // In bytes on Apple's systems, in kibibytes elsewhere.
    let unit = if cfg!(target_vendor = "apple") { 1024.0 * 1024.0 } else { 1024.0 };
    Ok((cpu.num_microseconds() as f64 / 1e6, usage.max_rss() as f64 / unit))
}

#[cfg(not(unix))]
fn children() -> Result<(f64, f64), Error> {
    Err("what a process took can be measured on Unix only".into())
}
