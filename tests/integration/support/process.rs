//! Processes that run, and the signals they get.

use std::process::Child;
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

pub fn send(child: &Child, signal: Signal) {
    kill(Pid::from_raw(i32::try_from(child.id()).expect("a pid")), signal).expect("the process is there");
}

/// Waits for what another process brings about.
pub fn wait_until(what: &str, done: impl Fn() -> bool) {
    let begun = Instant::now();
    while !done() {
        assert!(begun.elapsed() < Duration::from_secs(30), "the run does not get on: {what}");
        std::thread::sleep(Duration::from_millis(2));
    }
}
