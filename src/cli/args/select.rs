//! Selection: which of the cases.

use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::str::FromStr;

use clap::Args;

use crate::domain::Shard;

#[derive(Debug, Default, Args)]
#[command(next_help_heading = "Selection")]
pub(in crate::cli) struct SelectArgs {
    /// Only cases with this id, or whose id matches this regular expression; may be repeated
    #[arg(long = "case", value_name = "ID|/REGEX/")]
    pub(in crate::cli) cases: Vec<String>,
    /// Only cases with this tag; may be repeated, one of them is enough
    #[arg(long = "tag", value_name = "TAG")]
    pub(in crate::cli) tags: Vec<String>,
    /// Only cases that failed, or could not be measured, in these earlier results
    #[arg(long, value_name = "RESULTS", group = "earlier")]
    pub(in crate::cli) only_failed: Option<PathBuf>,
    /// Only cases that were measured and failed in these earlier results
    #[arg(long, value_name = "RESULTS", group = "earlier")]
    pub(in crate::cli) only_failed_scores: Option<PathBuf>,
    /// Only cases that could not be measured in these earlier results
    #[arg(long, value_name = "RESULTS", group = "earlier")]
    pub(in crate::cli) only_errors: Option<PathBuf>,
    /// Only cases that this baseline, or these results, lack or have with another content
    #[arg(long, value_name = "BASELINE")]
    pub(in crate::cli) only_changed: Option<PathBuf>,
    /// Only so many of the cases that are left, those of every tag in proportion
    #[arg(long, value_name = "N")]
    pub(in crate::cli) sample: Option<NonZeroUsize>,
    /// Another seed, another sample (default: 0)
    #[arg(long, value_name = "S", requires = "sample")]
    pub(in crate::cli) seed: Option<u64>,
    /// Only this part of the cases, for one of several machines: 2/8 is the second of eight; `auto` reads GitLab's, Azure's, Buildkite's,
    /// Kubernetes' or Slurm's variables, `auto/8` those that say no total. The limits that are stated (workers, budget, rates) are divided. Nothing is
    /// decided before `scoregate merge`
    #[arg(long, value_name = "I/N|auto")]
    pub(in crate::cli) shard: Option<ShardWish>,
}

/// A shard that was asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::cli) enum ShardWish {
    Stated(Shard),
    /// From the environment; the total where it is stated.
    Auto(Option<u32>),
}

impl FromStr for ShardWish {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text.strip_prefix("auto") {
            Some("") => Ok(Self::Auto(None)),
            Some(total) => {
                // As the last of them, so that the total is read as every other.
                let total = total.strip_prefix('/').and_then(|total| format!("{total}/{total}").parse::<Shard>().ok());
                let total = total.ok_or_else(|| format!("`{}` is neither `auto` nor `auto/8`", text.escape_debug()))?;
                Ok(Self::Auto(Some(total.total())))
            }
            None => text.parse().map(Self::Stated),
        }
    }
}
