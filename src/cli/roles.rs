//! Targets that are not judged: the base's system, asked in the same run as the baseline (`baseline.mode: concurrent`) or for suspects
//! alone (`confirm`).

use crate::diagnostic::{Diagnostic, Diagnostics};
use crate::gate::{BaselineMode, Policy};
use crate::suite::Suite;
use crate::target::Ready;
use crate::text::suggest;

/// Each of them is a target of the suite, and some other target is left to be judged.
pub(super) fn check(suite: &Suite, policy: &Policy, problems: &mut Diagnostics) {
    let concurrent = policy.baseline.as_ref().filter(|asked| asked.mode == BaselineMode::Concurrent);
    let roles = [
        ("/baseline/target", concurrent.and_then(|asked| asked.target.as_deref())),
        ("/confirm/target", policy.confirm.as_deref()),
    ];
    let names = || suite.targets.iter().map(|block| &*block.name);
    let mut say = |at: &str, message: String, help: String| {
        problems.push(match &suite.gate {
            Some(gate) => gate.problem(at, "unknown-target", message).help(help),
            None => Diagnostic::error("unknown-target", message).help(help),
        });
    };
    for (at, name) in roles {
        let Some(name) = name else { continue };
        if names().any(|known| known == name) {
            continue;
        }
        let known: Vec<String> = names().map(|known| format!("`{known}`")).collect();
        let help = suggest::did_you_mean(name, names()).unwrap_or_else(|| format!("there are {}", known.join(", ")));
        say(at, format!("`{name}` is no target of this suite"), help);
    }
    let is_apart = |name: &str| roles.iter().any(|(_, role)| *role == Some(name));
    let judged = names().any(|name| !is_apart(name) && policy.judges_target(name));
    if !judged && roles.iter().any(|(_, role)| role.is_some()) {
        let help = "name the system of the base branch here, and keep the one under test as a target of its own";
        say(roles[0].0, "no target is left to be judged".to_owned(), help.to_owned());
    }
}

/// Takes the target out that is asked for suspects alone.
pub(super) fn apart(name: Option<&str>, targets: &mut Vec<Ready>) -> Option<Ready> {
    let at = targets.iter().position(|target| Some(&*target.name) == name)?;
    Some(targets.remove(at))
}
