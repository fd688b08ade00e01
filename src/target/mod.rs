//! Systems under test: a case → an answer. One file a kind; [`kinds`] lists them.
//!
//! Promise: a target's failure is a `Failure`, never an empty answer.

mod recorded;

use crate::diagnostic::Diagnostics;
use crate::domain::{Answer, Case, Failure, TargetName};
use crate::net::{BoxFuture, Transport};
use crate::suite::{Block, Suite};

/// A system under test.
pub trait Target: Send + Sync {
    /// The answer for one case and trial.
    ///
    /// # Errors
    /// Whatever keeps the target from answering, on side `Target`; `Infra` where it could not even be asked.
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

/// One kind of target.
pub struct Kind {
    /// The key under the target's name.
    pub name: &'static str,
    /// One line.
    pub summary: &'static str,
    pub schema: fn() -> schemars::Schema,
    /// `None` after pushing diagnostics.
    pub build: fn(&Block, &Suite, &mut Diagnostics) -> Option<Box<dyn Target>>,
}

const KINDS: [Kind; 1] = [recorded::KIND];

/// Every kind of target.
pub fn kinds() -> &'static [Kind] {
    &KINDS
}

/// The suite's target `block`; `None` after pushing diagnostics.
pub fn build(block: &Block, suite: &Suite, diagnostics: &mut Diagnostics) -> Option<Ready> {
    let Some(kind) = KINDS.iter().find(|kind| kind.name == &*block.kind) else {
        let known: Vec<&str> = KINDS.iter().map(|kind| kind.name).collect();
        diagnostics.push(block.unknown_kind("target", known));
        return None;
    };
    let target = (kind.build)(block, suite, diagnostics)?;
    Some(Ready { name: block.name.clone(), target, free: kind.name == recorded::KIND.name })
}
