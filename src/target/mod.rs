//! Systems under test: a case → an answer. One file a kind; [`KINDS`] lists them.
//!
//! Promise: a target's failure is a `Failure` on side `Target` or `Infra`, never an empty answer.

use crate::domain::{Answer, Case, Failure, TargetName};
use crate::net::{BoxFuture, Transport};

pub trait Target: Send + Sync {
    fn ask<'a>(
        &'a self,
        case: &'a Case,
        trial: u32,
        transport: &'a dyn Transport,
    ) -> BoxFuture<'a, Result<Answer, Failure>>;
}

/// A checked target, ready to use.
pub struct Ready {
    pub name: TargetName,
    pub target: Box<dyn Target>,
    /// True where asking costs nothing and needs no limits (recorded answers).
    pub free: bool,
}
