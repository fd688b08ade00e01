//! A program with everything it started, to be ended together.

use tokio::process::Child;

/// The process group that a child leads. Dropping it kills the group, so that a cancelled attempt leaves nothing behind.
#[derive(Debug)]
pub(super) struct Group {
    #[cfg(unix)]
    leader: Option<nix::unistd::Pid>,
}

impl Group {
    #[cfg(unix)]
    pub(super) fn of(child: &Child) -> Self {
        let leader = child.id().and_then(|id| i32::try_from(id).ok()).filter(|id| *id > 1);
        Self { leader: leader.map(nix::unistd::Pid::from_raw) }
    }

    /// Elsewhere only the child itself is killed, by its handle.
    #[cfg(not(unix))]
    pub(super) fn of(_child: &Child) -> Self {
        Self {}
    }

    /// Kills what is left of the group, once: afterwards its number may belong to others.
    pub(super) fn kill(&mut self) {
        #[cfg(unix)]
        if let Some(leader) = self.leader.take() {
            // Fails where nobody is left.
            let _ = nix::sys::signal::killpg(leader, nix::sys::signal::Signal::SIGKILL);
        }
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        self.kill();
    }
}
