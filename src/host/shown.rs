//! Where a comment went, and the time that the word about an outdated one may take.

use std::future::Future;

use super::patience::Patience;
use super::{FAREWELL, NoVerdict, Outdated};

/// Where the comment went.
pub(super) enum Shown {
    At(String),
    /// There is nothing to comment on, or nothing to say, which is no trouble; a note where somebody may wonder.
    Nowhere(Option<String>),
}

/// Carries out `attempt`, which marks the comment of an earlier run as outdated and says where that is, if there is one. Trouble is a note:
/// nothing that was asked for is missing.
pub(super) async fn outdated(
    news: &Outdated,
    patience: &Patience,
    attempt: impl Future<Output = Result<Option<String>, String>>,
) -> Shown {
    let patience = match news.why {
        NoVerdict::Cancelled => FAREWELL,
        NoVerdict::Stopped { .. } => patience.budget,
    };
    let ended = tokio::time::timeout(patience, attempt).await.unwrap_or_else(|_| Err("it took too long".to_owned()));
    match ended {
        Ok(Some(url)) => Shown::At(url),
        Ok(None) => Shown::Nowhere(None),
        Err(why) => {
            Shown::Nowhere(Some(format!("the comment of an earlier run could not be marked as outdated: {why}")))
        }
    }
}
