//! Which shard this machine is to run: as stated, or as the system that started it says.

use super::args::ShardWish;
use super::failure::Failed;
use crate::domain::{Env, Shard};
use crate::text::suggest;

const HELP: &str = "say it yourself: `--shard 2/8`";

/// The shard that is asked for.
///
/// # Errors
/// Nothing in the environment says it, what says it is no shard, or two systems say different things.
pub(super) fn resolve(wish: ShardWish, env: &Env) -> Result<Shard, Failed> {
    match wish {
        ShardWish::Stated(shard) => Ok(shard),
        ShardWish::Auto(total) => auto(total, env),
    }
}

/// A system that runs a job several times, and what it tells each of them.
struct System {
    name: &'static str,
    read: fn(&Env, Option<u32>) -> Result<Option<Shard>, String>,
}

/// - GitLab: docs.gitlab.com/ci/variables/predefined_variables, from 1 to the total; the index is only set with `parallel`.
/// - Azure Pipelines: learn.microsoft.com/azure/devops/pipelines/test/parallel-testing-any-test-runner, from 1.
/// - Buildkite: buildkite.com/docs/pipelines/configure/environment-variables, from 0; only set with `parallelism`.
/// - Kubernetes: kubernetes.io/docs/tasks/job/indexed-parallel-processing-static, from 0; the total (`completions`) is told to nobody.
/// - Slurm: slurm.schedmd.com/job_array.html, ids from any number in any step.
const SYSTEMS: [System; 5] = [
    System { name: "GitLab", read: |env, _| pair(env, "CI_NODE_INDEX", "CI_NODE_TOTAL", 1) },
    System {
        name: "Azure Pipelines",
        read: |env, _| pair(env, "SYSTEM_JOBPOSITIONINPHASE", "SYSTEM_TOTALJOBSINPHASE", 1),
    },
    System { name: "Buildkite", read: |env, _| pair(env, "BUILDKITE_PARALLEL_JOB", "BUILDKITE_PARALLEL_JOB_COUNT", 0) },
    System { name: "Kubernetes", read: kubernetes },
    System { name: "Slurm", read: |env, _| slurm(env) },
];

fn auto(total: Option<u32>, env: &Env) -> Result<Shard, Failed> {
    let mut found: Option<(&str, Shard)> = None;
    for System { name, read } in &SYSTEMS {
        let shard = read(env, total).map_err(|problem| Failed::usage("shard", format!("{name}: {problem}"), HELP))?;
        match (found, shard) {
            (Some((other, known)), Some(shard)) if known != shard => {
                let message = format!("{other} says that this is shard {known}, {name} that it is {shard}");
                return Err(Failed::usage("shard", message, HELP));
            }
            (None, Some(shard)) => found = Some((*name, shard)),
            (_, _) => {}
        }
    }
    match (found, total) {
        (Some((name, shard)), Some(total)) if shard.total() != total => {
            let message =
                format!("{name} says that this is shard {shard}, and `--shard auto/{total}` that there are {total}");
            Err(Failed::usage(
                "shard",
                message,
                "correct the one that is wrong; where some shards are run again alone, `--shard 2/8`",
            ))
        }
        (Some((_, shard)), _) => Ok(shard),
        (None, _) => Err(nothing(env)),
    }
}

fn nothing(env: &Env) -> Failed {
    let names = SYSTEMS.iter().map(|system| system.name);
    let message = format!("`--shard auto`: no variable of {} says which shard this is", suggest::list(names, "or"));
    let help = if env.get("GITHUB_ACTIONS").is_some() {
        "GitHub sets no variable for a matrix: give the step `env: { SHARD: \"${{ matrix.shard }}\" }` and write `--shard \"$SHARD/8\"`"
    } else if env.get("GITLAB_CI").is_some() {
        "give the job `parallel: 8`, or say it yourself: `--shard 2/8`"
    } else {
        HELP
    };
    Failed::usage("shard", message, help)
}

/// Two variables that are both there or both not; `first` is the number of the first shard.
fn pair(env: &Env, index: &str, total: &str, first: u32) -> Result<Option<Shard>, String> {
    match (env.get(index), env.get(total)) {
        (None, None) => Ok(None),
        // GitLab's total is 1 in every job that is not parallel.
        (None, Some("1")) => Ok(None),
        (None, Some(_)) => Err(format!("{total} is set and {index} is not")),
        (Some(_), None) => Err(format!("{index} is set and {total} is not")),
        (Some(at), Some(of)) => {
            let (position, count) = (number(index, at)?, number(total, of)?);
            let shard = position.checked_sub(first).and_then(|before| Shard::new(before.checked_add(1)?, count));
            let counted = format!("{index} is {position} and {total} is {count}, and they count from {first}");
            shard.map(Some).ok_or_else(|| format!("there is no such shard: {counted}"))
        }
    }
}

fn kubernetes(env: &Env, total: Option<u32>) -> Result<Option<Shard>, String> {
    const INDEX: &str = "JOB_COMPLETION_INDEX";
    let Some(index) = env.get(INDEX) else { return Ok(None) };
    let index = number(INDEX, index)?;
    let Some(total) = total else {
        return Err(format!(
            "{INDEX} is {index}, and Kubernetes does not say of how many: write the Job's `completions` after it, `--shard auto/8`"
        ));
    };
    let shard = index.checked_add(1).and_then(|index| Shard::new(index, total));
    shard.map(Some).ok_or_else(|| format!("{INDEX} is {index}, from 0, and `--shard auto/{total}` says {total} in all"))
}

/// The place of an id in its range; a list with holes does not say it.
fn slurm(env: &Env) -> Result<Option<Shard>, String> {
    let names = ["ID", "MIN", "MAX", "STEP", "COUNT"].map(|name| format!("SLURM_ARRAY_TASK_{name}"));
    if env.get(&names[0]).is_none() {
        return Ok(None);
    }
    let mut values = [0_u32; 5];
    for (value, name) in values.iter_mut().zip(&names) {
        let text = env.get(name).ok_or_else(|| format!("{} is set and {name} is not", names[0]))?;
        *value = number(name, text)?;
    }
    let [id, min, max, step, count] = values;
    let place = |id: u32| {
        let distance = id.checked_sub(min)?;
        (distance.checked_rem(step)? == 0).then(|| distance.checked_div(step))?
    };
    let regular = place(max).and_then(|last| last.checked_add(1)) == Some(count);
    let shard = place(id).filter(|_| regular && id <= max).and_then(|place| Shard::new(place.checked_add(1)?, count));
    shard.map(Some).ok_or_else(|| {
        format!("the array of {count} tasks from {min} to {max} in steps of {step} is no plain range with task {id} in it; submit one: `--array=1-8`")
    })
}

fn number(name: &str, text: &str) -> Result<u32, String> {
    let plain = text.bytes().all(|byte| byte.is_ascii_digit());
    let number = text.parse().ok().filter(|_| plain);
    number.ok_or_else(|| format!("{name} is `{}`, which is no number", text.escape_debug()))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The wish, the variables, and what comes of them.
    type Row<'a> = (&'a str, &'a [(&'a str, &'a str)], &'a str);

    fn said(wish: &str, variables: &[(&str, &str)]) -> Result<String, String> {
        let env = Env::from_pairs(variables.iter().copied());
        let shard = resolve(wish.parse().unwrap(), &env);
        shard.map(|shard| shard.to_string()).map_err(|failed| failed.problems()[0].to_string())
    }

    #[test]
    fn every_system_is_understood() {
        let slurm = |id, count, min, max, step| {
            [
                ("SLURM_ARRAY_TASK_ID", id),
                ("SLURM_ARRAY_TASK_COUNT", count),
                ("SLURM_ARRAY_TASK_MIN", min),
                ("SLURM_ARRAY_TASK_MAX", max),
                ("SLURM_ARRAY_TASK_STEP", step),
            ]
        };
        let rows: [Row; 9] = [
            ("auto", &[("CI_NODE_INDEX", "2"), ("CI_NODE_TOTAL", "8")], "2 of 8"),
            ("auto", &[("SYSTEM_JOBPOSITIONINPHASE", "1"), ("SYSTEM_TOTALJOBSINPHASE", "1")], "1 of 1"),
            ("auto", &[("BUILDKITE_PARALLEL_JOB", "0"), ("BUILDKITE_PARALLEL_JOB_COUNT", "3")], "1 of 3"),
            ("auto/4", &[("JOB_COMPLETION_INDEX", "3")], "4 of 4"),
            ("auto", &slurm("10", "4", "4", "13", "3"), "3 of 4"),
            ("auto", &slurm("0", "8", "0", "7", "1"), "1 of 8"),
            ("auto/8", &slurm("0", "8", "0", "7", "1"), "1 of 8"),
            // A job that is not parallel on GitLab, in a pod of an indexed job.
            ("auto/4", &[("CI_NODE_TOTAL", "1"), ("JOB_COMPLETION_INDEX", "0")], "1 of 4"),
            ("5/9", &[("CI_NODE_INDEX", "2"), ("CI_NODE_TOTAL", "8")], "5 of 9"),
        ];
        for (wish, variables, expected) in rows {
            assert_eq!(said(wish, variables).as_deref(), Ok(expected), "{wish} {variables:?}");
        }
    }

    #[test]
    fn what_is_missing_wrong_or_contradictory_is_named() {
        let array = |id, count, max| {
            [
                ("SLURM_ARRAY_TASK_ID", id),
                ("SLURM_ARRAY_TASK_COUNT", count),
                ("SLURM_ARRAY_TASK_MIN", "1"),
                ("SLURM_ARRAY_TASK_MAX", max),
                ("SLURM_ARRAY_TASK_STEP", "1"),
            ]
        };
        let rows: [Row; 15] = [
            ("auto", &[], "no variable of"),
            ("auto", &[("GITHUB_ACTIONS", "true")], "${{ matrix.shard }}"),
            ("auto", &[("GITLAB_CI", "true"), ("CI_NODE_TOTAL", "1")], "parallel: 8"),
            ("auto", &[("CI_NODE_TOTAL", "8")], "CI_NODE_INDEX is not"),
            ("auto", &[("CI_NODE_INDEX", "2")], "CI_NODE_TOTAL is not"),
            ("auto", &[("CI_NODE_INDEX", "0"), ("CI_NODE_TOTAL", "8")], "count from 1"),
            ("auto", &[("CI_NODE_INDEX", "9"), ("CI_NODE_TOTAL", "8")], "no such shard"),
            ("auto", &[("BUILDKITE_PARALLEL_JOB", "3"), ("BUILDKITE_PARALLEL_JOB_COUNT", "3")], "count from 0"),
            ("auto", &[("SYSTEM_JOBPOSITIONINPHASE", "x"), ("SYSTEM_TOTALJOBSINPHASE", "3")], "no number"),
            ("auto", &[("JOB_COMPLETION_INDEX", "3")], "auto/8"),
            ("auto/3", &[("JOB_COMPLETION_INDEX", "3")], "from 0"),
            ("auto", &array("3", "3", "7"), "no plain range"),
            // One task of an array that is run again alone is not the whole.
            ("auto/8", &[("CI_NODE_INDEX", "1"), ("CI_NODE_TOTAL", "1")], "auto/8"),
            ("auto", &[("SLURM_ARRAY_TASK_ID", "3")], "SLURM_ARRAY_TASK_MIN is not"),
            (
                "auto",
                &[
                    ("CI_NODE_INDEX", "2"),
                    ("CI_NODE_TOTAL", "8"),
                    ("BUILDKITE_PARALLEL_JOB", "0"),
                    ("BUILDKITE_PARALLEL_JOB_COUNT", "3"),
                ],
                "GitLab says that this is shard 2 of 8, Buildkite that it is 1 of 3",
            ),
        ];
        for (wish, variables, expected) in rows {
            let said = said(wish, variables).expect_err(&format!("{variables:?}"));
            assert!(said.contains(expected), "{variables:?}: {said}");
        }
    }
}
