//! http-private-ca: a server whose authority nobody knows, until it is named.

use super::*;
use crate::domain::{FailureKind, RetryClass};
use std::sync::Arc;
use tokio::io::{AsyncReadExt, AsyncWriteExt};

/// A throw-away authority in a file, and the port of a server that it vouches for.
async fn private_server(folder: &std::path::Path) -> (String, u16) {
    let ca_key = rcgen::KeyPair::generate().unwrap();
    let mut ca = rcgen::CertificateParams::new(Vec::new()).unwrap();
    ca.is_ca = rcgen::IsCa::Ca(rcgen::BasicConstraints::Unconstrained);
    ca.distinguished_name.push(rcgen::DnType::CommonName, "Throw-away Test CA");
    let ca_certificate = ca.self_signed(&ca_key).unwrap();
    let file = folder.join("ca.pem");
    std::fs::write(&file, ca_certificate.pem()).unwrap();
    let issuer = rcgen::Issuer::new(ca, ca_key);
    let key = rcgen::KeyPair::generate().unwrap();
    let certificate =
        rcgen::CertificateParams::new(vec!["localhost".to_owned()]).unwrap().signed_by(&key, &issuer).unwrap();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = rustls::ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(
            vec![certificate.der().clone()],
            rustls::pki_types::PrivateKeyDer::try_from(key.serialize_der()).unwrap(),
        )
        .unwrap();
    let acceptor = tokio_rustls::TlsAcceptor::from(Arc::new(config));
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            let acceptor = acceptor.clone();
            tokio::spawn(async move {
                let Ok(mut stream) = acceptor.accept(stream).await else { return };
                let mut request = vec![0; 4096];
                let _ = stream.read(&mut request).await;
                let _ = stream.write_all(&json("200 OK", "{}")).await;
                let _ = stream.shutdown().await;
            });
        }
    });
    (file.to_str().unwrap().to_owned(), port)
}

#[tokio::test]
async fn http_private_ca() {
    let folder = tempfile::tempdir().unwrap();
    let (ca, port) = private_server(folder.path()).await;
    let call = post(&format!("https://localhost:{port}/q"));
    let rejection = attempt(&call).await.unwrap_err();
    assert_eq!((rejection.kind, rejection.class), (FailureKind::Connection, RetryClass::Endpoint));
    let message = &rejection.message;
    assert!(message.contains("issued by `Throw-away Test CA`") && message.contains("SCOREGATE_CA_FILE"), "{message}");
    for variable in ["SCOREGATE_CA_FILE", "SSL_CERT_FILE"] {
        let client = Client::new(&Env::from_pairs([(variable, ca.clone())])).unwrap();
        let answer = client.attempt(&call).await;
        assert!(answer.is_ok(), "{variable}: {answer:?}");
    }
    let other_name = post(&format!("https://127.0.0.1:{port}/q"));
    let client = Client::new(&Env::from_pairs([("SCOREGATE_CA_FILE", ca)])).unwrap();
    let rejection = client.attempt(&other_name).await.unwrap_err();
    assert!(rejection.message.contains("is not valid"), "{}", rejection.message);
}

#[test]
fn an_authority_s_file_that_cannot_be_read_is_an_error_at_once() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("empty.pem");
    std::fs::write(&file, "nothing").unwrap();
    for path in [file.to_str().unwrap(), "/does/not/exist.pem"] {
        let error = Client::new(&Env::from_pairs([("SCOREGATE_CA_FILE", path)])).err().unwrap().to_string();
        assert!(error.contains("SCOREGATE_CA_FILE") && error.contains(path), "{error}");
    }
}
