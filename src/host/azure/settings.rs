//! What the agent's variables say, checked.

use std::path::PathBuf;

use base64::Engine as _;

use crate::domain::Secret;
use crate::host::patience::Patience;
use crate::report::SourceLinks;

/// Where to publish and how patiently.
#[derive(Clone, Debug)]
pub(crate) struct Settings {
    /// `SYSTEM_COLLECTIONURI`: `https://dev.azure.com/ORG/`, or on a server of one's own `https://tfs.example/tfs/Collection/`.
    pub(crate) collection: Option<String>,
    /// The project's id.
    pub(crate) project: Option<String>,
    /// The repository's id.
    pub(crate) repository: Option<String>,
    pub(crate) credential: Option<Credential>,
    /// The job's folder for files that are gone after it.
    pub(crate) temp: Option<PathBuf>,
    /// Commands for the agent are wanted.
    pub(crate) speaks: bool,
    pub(crate) patience: Patience,
}

impl Settings {
    pub(crate) fn source_links(&self, sha: &str) -> Option<SourceLinks> {
        let (collection, project) = (self.collection.as_deref()?, self.project.as_deref()?);
        let repository = self.repository.as_deref()?;
        let before = format!("{collection}/{project}/_git/{repository}?path=/");
        Some(SourceLinks { before, between: format!("&version=GC{sha}&lineStartColumn=1&lineEndColumn=1&line=") })
    }
}

/// Who we are to the server.
#[derive(Clone, Debug)]
pub(crate) enum Credential {
    /// The job's own token.
    Token(Secret),
    /// A person's access token.
    Personal(Secret),
}

impl Credential {
    pub(crate) fn secret(&self) -> &Secret {
        match self {
            Self::Token(secret) | Self::Personal(secret) => secret,
        }
    }

    /// The value of `Authorization`.
    pub(super) fn header(&self) -> String {
        match self {
            Self::Token(secret) => format!("Bearer {}", secret.expose()),
            Self::Personal(secret) => {
                let pair = format!(":{}", secret.expose());
                format!("Basic {}", base64::engine::general_purpose::STANDARD.encode(pair))
            }
        }
    }
}
