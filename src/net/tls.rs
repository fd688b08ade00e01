//! The HTTP client that everything shares: rustls with ring, the system's roots merged with Mozilla's, proxies from the environment.

use std::time::Duration;

/// Why there is no client.
#[derive(Debug, thiserror::Error)]
#[error("could not set up HTTP: {0}")]
pub struct ClientError(String);

/// A client without redirects and without compression surprises; slim images without any system roots work too.
///
/// # Errors
/// Where TLS cannot be set up.
pub fn http_client(connect_timeout: Duration) -> Result<reqwest::Client, ClientError> {
    // A second installation reports the first; either is ring.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let roots = webpki_root_certs::TLS_SERVER_ROOT_CERTS
        .iter()
        .map(|certificate| reqwest::Certificate::from_der(certificate))
        .collect::<Result<Vec<_>, _>>()
        .map_err(|error| ClientError(error.to_string()))?;
    reqwest::Client::builder()
        .tls_certs_merge(roots)
        .connect_timeout(connect_timeout)
        .redirect(reqwest::redirect::Policy::none())
        .user_agent(concat!("scoregate/", env!("CARGO_PKG_VERSION")))
        .build()
        .map_err(|error| ClientError(error.to_string()))
}
