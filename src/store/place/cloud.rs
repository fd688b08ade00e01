//! Objects of Amazon S3 and what speaks like it, Google Cloud Storage, and Azure Blob Storage, with the credentials that their own
//! variables name (`AWS_…`, `GOOGLE_…`, `AZURE_…`). Behind the cargo feature `cloud`.
//!
//! TLS, proxies and authorities are those of every other connection.

use std::sync::Arc;
use std::time::Duration;

use object_store::aws::AmazonS3Builder;
use object_store::azure::MicrosoftAzureBuilder;
use object_store::client::{ClientOptions, HttpClient, HttpConnector};
use object_store::gcp::GoogleCloudStorageBuilder;
use object_store::path::Path as Key;
use object_store::{Error, ObjectStore, ObjectStoreExt as _, PutMode, PutOptions, RetryConfig, UpdateVersion};

use super::{LIMIT, Mark, Place, Stored, Wanted, moved, too_large, unreachable};
use crate::domain::Env;
use crate::net::{BoxFuture, http_client};
use crate::store::StoreError;

const CONNECT: Duration = Duration::from_secs(10);

struct Blob {
    store: Arc<dyn ObjectStore>,
    key: Key,
    name: String,
}

pub(super) fn open(wanted: &Wanted<'_>) -> Result<Box<dyn Place>, String> {
    let name = wanted.from.to_owned();
    let (scheme, rest) = name.split_once("://").ok_or_else(|| format!("`{name}` is no address"))?;
    let form = || format!("`{name}` names no object: write {scheme}://bucket/path/to/baseline.jsonl");
    let (bucket, key) =
        rest.split_once('/').filter(|(bucket, key)| !bucket.is_empty() && !key.is_empty()).ok_or_else(form)?;
    if key.contains(['?', '#']) {
        return Err(format!("`{scheme}://` takes no query; a pre-signed address begins with https://"));
    }
    let key = Key::parse(key).map_err(|error| error.to_string())?;
    let client = http_client(wanted.env, CONNECT).map_err(|error| error.to_string())?;
    let store =
        build(scheme, bucket, wanted.env, Ours(client)).map_err(|error| format!("{scheme}://{bucket}: {error}"))?;
    Ok(Box::new(Blob { store, key, name: name.clone() }))
}

/// The three builders are alike, and have no common trait.
fn build(scheme: &str, bucket: &str, env: &Env, ours: Ours) -> Result<Arc<dyn ObjectStore>, Error> {
    let retry = RetryConfig { max_retries: 3, retry_timeout: Duration::from_secs(60), ..RetryConfig::default() };
    let settings = |prefix: &'static str| {
        let names = env.names().filter(move |name| name.starts_with(prefix));
        names.filter_map(|name| Some((name.to_ascii_lowercase(), env.get(name)?.to_owned())))
    };
    Ok(match scheme {
        "s3" => {
            let mut builder = AmazonS3Builder::new();
            for (name, value) in settings("AWS_") {
                if let Ok(key) = name.parse() {
                    builder = builder.with_config(key, value);
                }
            }
            Arc::new(builder.with_bucket_name(bucket).with_retry(retry).with_http_connector(ours).build()?)
        }
        "gs" => {
            let mut builder = GoogleCloudStorageBuilder::new();
            for (name, value) in settings("GOOGLE_") {
                if let Ok(key) = name.parse() {
                    builder = builder.with_config(key, value);
                }
            }
            Arc::new(builder.with_bucket_name(bucket).with_retry(retry).with_http_connector(ours).build()?)
        }
        _ => {
            let mut builder = MicrosoftAzureBuilder::new();
            for (name, value) in settings("AZURE_") {
                if let Ok(key) = name.parse() {
                    builder = builder.with_config(key, value);
                }
            }
            Arc::new(builder.with_container_name(bucket).with_retry(retry).with_http_connector(ours).build()?)
        }
    })
}

/// The client that everything else here uses.
#[derive(Clone, Debug)]
struct Ours(reqwest::Client);

impl HttpConnector for Ours {
    fn connect(&self, _options: &ClientOptions) -> Result<HttpClient, Error> {
        Ok(HttpClient::new(self.0.clone()))
    }
}

impl Blob {
    /// What the store said on one line, without the addresses of requests, which may be signed.
    fn failed(&self, error: &Error) -> StoreError {
        let said = match error {
            Error::PermissionDenied { .. } => {
                "the store refuses access: check the credentials and their permissions".to_owned()
            }
            Error::Unauthenticated { .. } => "the store knows no such credentials".to_owned(),
            error => innermost(error),
        };
        unreachable(&self.name, said)
    }

    async fn get(&self) -> Result<Stored, StoreError> {
        let found = match self.store.get(&self.key).await {
            Ok(found) => found,
            Err(error @ Error::NotFound { .. }) => {
                let said = format!("{error:?}");
                // A bucket that is missing is a mistake, and no first run.
                if ["NoSuchBucket", "ContainerNotFound", "bucket does not exist"].iter().any(|word| said.contains(word))
                {
                    return Err(unreachable(&self.name, "there is no such bucket or container"));
                }
                return Err(StoreError::Absent { path: self.name.clone().into() });
            }
            Err(error) => return Err(self.failed(&error)),
        };
        if found.meta.size > LIMIT {
            return Err(too_large(&self.name));
        }
        let version = (found.meta.e_tag.clone(), found.meta.version.clone());
        let bytes = found.bytes().await.map_err(|error| self.failed(&error))?;
        let mark = serde_json::to_string(&version).map_err(|error| unreachable(&self.name, error))?;
        Ok(Stored { bytes: bytes.to_vec(), mark: Mark::Is(mark) })
    }

    async fn put(&self, bytes: &[u8], over: &Mark) -> Result<(), StoreError> {
        let mode = match over {
            Mark::Nothing => PutMode::Create,
            Mark::Is(mark) => {
                let (e_tag, version) = serde_json::from_str(mark).map_err(|error| unreachable(&self.name, error))?;
                PutMode::Update(UpdateVersion { e_tag, version })
            }
        };
        let options = PutOptions { mode, ..PutOptions::default() };
        match self.store.put_opts(&self.key, bytes.to_vec().into(), options).await {
            Ok(_) => Ok(()),
            // The answer to our own write may have been lost.
            Err(Error::AlreadyExists { .. } | Error::Precondition { .. }) => {
                if self.get().await.is_ok_and(|kept| kept.bytes == bytes) { Ok(()) } else { Err(moved(&self.name)) }
            }
            Err(error) => Err(self.failed(&error)),
        }
    }
}

fn innermost(error: &(dyn std::error::Error + 'static)) -> String {
    let last = std::iter::successors(Some(error), |error| error.source()).take(16).last();
    let text = last.map(ToString::to_string).unwrap_or_default();
    let line: Vec<&str> = text.split_whitespace().filter(|word| !word.contains("://")).collect();
    line.join(" ").chars().take(300).collect()
}

impl Place for Blob {
    fn name(&self) -> String {
        self.name.clone()
    }

    fn load(&self) -> BoxFuture<'_, Result<Stored, StoreError>> {
        Box::pin(self.get())
    }

    fn save<'a>(&'a self, bytes: &'a [u8], over: &'a Mark) -> BoxFuture<'a, Result<(), StoreError>> {
        Box::pin(self.put(bytes, over))
    }
}
