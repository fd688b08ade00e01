//! TLS, and the HTTP clients on it: rustls with ring; the system's roots merged with Mozilla's, so that images without any work too;
//! one more authority from `SCOREGATE_CA_FILE` or `SSL_CERT_FILE`. Verification cannot be switched off.

use std::sync::Arc;
use std::time::Duration;

use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{CertificateError, ClientConfig, DigitallySignedStruct, OtherError, SignatureScheme};

use super::issuer::issuer;
use super::proxy::Proxies;
use crate::domain::Env;

/// Names a PEM file with authorities to trust beside the known ones.
pub const CA_FILE: &str = "SCOREGATE_CA_FILE";
const SSL_CERT_FILE: &str = "SSL_CERT_FILE";

/// Why there is no client.
#[derive(Debug, thiserror::Error)]
#[error("could not set up HTTP: {0}")]
pub struct ClientError(String);

impl ClientError {
    pub(super) fn new(reason: impl Into<String>) -> Self {
        Self(reason.into())
    }
}

/// A plain client for hosts: the same TLS and proxies as [`super::Client`], no redirects.
///
/// # Errors
/// Where TLS or a proxy cannot be set up.
pub fn http_client(env: &Env, connect_timeout: Duration) -> Result<reqwest::Client, ClientError> {
    builder(env)?
        .connect_timeout(connect_timeout)
        .build()
        .map_err(|error| ClientError::new(error.without_url().to_string()))
}

/// What all clients have in common.
pub(super) fn builder(env: &Env) -> Result<reqwest::ClientBuilder, ClientError> {
    let proxies = Proxies::from_env(env)?;
    Ok(reqwest::Client::builder()
        .tls_backend_preconfigured(config(env)?)
        .no_proxy()
        .proxy(reqwest::Proxy::custom(move |url| proxies.for_url(url)))
        .redirect(reqwest::redirect::Policy::none())
        .referer(false)
        .user_agent(concat!("scoregate/", env!("CARGO_PKG_VERSION"))))
}

fn config(env: &Env) -> Result<ClientConfig, ClientError> {
    let failed = |error: rustls::Error| ClientError::new(error.to_string());
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let mut roots: Vec<CertificateDer<'static>> = webpki_root_certs::TLS_SERVER_ROOT_CERTS.to_vec();
    roots.extend(extra_roots(env)?);
    let verifier =
        rustls_platform_verifier::Verifier::new_with_extra_roots(roots, Arc::clone(&provider)).map_err(failed)?;
    let mut config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(failed)?
        .dangerous()
        .with_custom_certificate_verifier(Arc::new(NamesIssuer(verifier)))
        .with_no_client_auth();
    config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    Ok(config)
}

fn extra_roots(env: &Env) -> Result<Vec<CertificateDer<'static>>, ClientError> {
    let mut roots = Vec::new();
    if let Some(path) = env.get(CA_FILE) {
        let found = certificates(path).map_err(|reason| ClientError::new(format!("{CA_FILE} `{path}`: {reason}")))?;
        roots.extend(found);
    }
    if let Some(path) = env.get(SSL_CERT_FILE) {
        match certificates(path) {
            Ok(found) => roots.extend(found),
            // Other tools set it for themselves, and it may name a file that is gone.
            Err(reason) => tracing::warn!("{SSL_CERT_FILE} `{path}` is not used: {reason}"),
        }
    }
    Ok(roots)
}

fn certificates(path: &str) -> Result<Vec<CertificateDer<'static>>, String> {
    let found = CertificateDer::pem_file_iter(path).map_err(|error| error.to_string())?;
    let found = found.collect::<Result<Vec<_>, _>>().map_err(|error| error.to_string())?;
    if found.is_empty() { Err("it holds no certificate in PEM form".to_owned()) } else { Ok(found) }
}

/// The certificate was signed by somebody who is not known here.
#[derive(Debug, thiserror::Error)]
#[error("its certificate was issued by {issuer}, which is not trusted here")]
pub(super) struct UntrustedIssuer {
    pub(super) issuer: String,
}

/// The platform's verification, unchanged; its refusal of an unknown authority gets that authority's name.
#[derive(Debug)]
struct NamesIssuer(rustls_platform_verifier::Verifier);

impl ServerCertVerifier for NamesIssuer {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        server_name: &ServerName<'_>,
        ocsp_response: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        let verified = self.0.verify_server_cert(end_entity, intermediates, server_name, ocsp_response, now);
        verified.map_err(|error| match error {
            rustls::Error::InvalidCertificate(CertificateError::UnknownIssuer) => {
                let last = intermediates.last().unwrap_or(end_entity);
                let issuer = issuer(last).map_or_else(|| "an authority".to_owned(), |name| format!("`{name}`"));
                rustls::Error::Other(OtherError(Arc::new(UntrustedIssuer { issuer })))
            }
            other => other,
        })
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        self.0.verify_tls12_signature(message, certificate, signature)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        self.0.verify_tls13_signature(message, certificate, signature)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.supported_verify_schemes()
    }
}
