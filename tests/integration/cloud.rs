//! Baselines in object stores, against Azure's own emulator (Azurite) and a server that speaks S3 (moto). `.ci/run` installs both and
//! names them in `SCOREGATE_TEST_AZURITE` and `SCOREGATE_TEST_MOTO`; elsewhere the tests say that they were left out.

use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use sha2::{Digest as _, Sha256};

use crate::command::{checked, code, command, err, folder, out, scoregate, verdict};
use crate::proposal::{rows, suite};

/// The emulator's well-known account. **Source**: learn.microsoft.com, "Use the Azurite emulator", "Well-known storage account and key".
const ACCOUNT: &str = "devstoreaccount1";
const KEY: &str = "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw==";

/// A server that ends with the test.
struct Server {
    child: Child,
    port: u16,
    _folder: tempfile::TempDir,
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// `None`: it is not installed here, which is said.
#[expect(clippy::print_stderr, reason = "what was left out is said")]
fn server(variable: &str, arguments: impl Fn(u16, &Path) -> Vec<String>) -> Option<Server> {
    let Some(program) = std::env::var_os(variable) else {
        eprintln!("left out: {variable} names no server to test against; `.ci/run` installs it");
        return None;
    };
    let folder = tempfile::tempdir().expect("a folder");
    let port = TcpListener::bind("127.0.0.1:0").expect("a port").local_addr().expect("an address").port();
    let child = Command::new(program)
        .args(arguments(port, folder.path()))
        .current_dir(folder.path())
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .expect("the server starts");
    let server = Server { child, port, _folder: folder };
    let begun = Instant::now();
    while TcpStream::connect(("127.0.0.1", port)).is_err() {
        assert!(begun.elapsed() < Duration::from_secs(60), "{variable} does not listen");
        std::thread::sleep(Duration::from_millis(50));
    }
    Some(server)
}

fn moto() -> Option<Server> {
    let server = server("SCOREGATE_TEST_MOTO", |port, _| {
        vec!["-H".to_owned(), "127.0.0.1".to_owned(), "-p".to_owned(), port.to_string()]
    })?;
    assert!(put(server.port, "/baselines", "").starts_with("HTTP/1.1 200"), "the bucket");
    Some(server)
}

fn azurite() -> Option<Server> {
    let server = server("SCOREGATE_TEST_AZURITE", |port, folder| {
        let location = folder.display().to_string();
        [
            "--silent",
            "--skipApiVersionCheck",
            "--blobHost",
            "127.0.0.1",
            "--blobPort",
            &port.to_string(),
            "--location",
            &location,
        ]
        .map(str::to_owned)
        .to_vec()
    })?;
    let date = httpdate::fmt_http_date(std::time::SystemTime::now());
    // **Source**: learn.microsoft.com, "Authorize with Shared Key".
    let version = "2021-08-06";
    let signed = format!(
        "PUT\n\n\n\n\n\n\n\n\n\n\n\nx-ms-date:{date}\nx-ms-version:{version}\n/{ACCOUNT}/{ACCOUNT}/baselines\nrestype:container"
    );
    let signature = BASE64.encode(hmac(&BASE64.decode(KEY).expect("a key"), signed.as_bytes()));
    let headers =
        format!("x-ms-date: {date}\r\nx-ms-version: {version}\r\nAuthorization: SharedKey {ACCOUNT}:{signature}\r\n");
    let answer = put(server.port, &format!("/{ACCOUNT}/baselines?restype=container"), &headers);
    assert!(answer.starts_with("HTTP/1.1 201"), "the container: {answer}");
    Some(server)
}

/// RFC 2104.
fn hmac(key: &[u8], text: &[u8]) -> Vec<u8> {
    let mut block = [0_u8; 64];
    let short = if key.len() > 64 { Sha256::digest(key).to_vec() } else { key.to_vec() };
    block[..short.len()].copy_from_slice(&short);
    let pad = |byte: u8| block.map(|one| one ^ byte);
    let inner = Sha256::digest([&pad(0x36)[..], text].concat());
    Sha256::digest([&pad(0x5c)[..], &inner[..]].concat()).to_vec()
}

fn put(port: u16, path: &str, headers: &str) -> String {
    let mut stream = TcpStream::connect(("127.0.0.1", port)).expect("a connection");
    let head = format!(
        "PUT {path} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nConnection: close\r\nContent-Length: 0\r\n{headers}\r\n"
    );
    stream.write_all(head.as_bytes()).expect("a request");
    let mut answer = String::new();
    let _ = stream.read_to_string(&mut answer);
    answer
}

/// What every store has to do, with the credentials that its own variables name.
fn keeps_baselines(scheme: &str, variables: &[(&str, String)]) {
    let place = folder(&[("first.yaml", &suite("0.9", "")), ("data.jsonl", &rows(30, 0))]);
    let write = |baseline: &str| {
        let text = suite("0.9", &format!("  baseline: {baseline}\n"));
        std::fs::write(place.path().join("scoregate.yaml"), text).expect("a file");
    };
    let run = |arguments: &[&str]| -> Output {
        let variables = variables.iter().map(|(name, value)| (*name, value.as_str()));
        command(place.path(), arguments).envs(variables).output().expect("the binary starts")
    };
    let good = scoregate(place.path(), &["run", "first.yaml", "--out", "first"]);
    assert_eq!(code(&good), 0, "{}", err(&good));
    let address = format!("{scheme}://baselines/main/rag.jsonl");
    write(&format!("{{ from: \"{address}\" }}"));
    let said = checked(&run(&["run"]), 3);
    assert!(said.contains(&format!("no baseline: {address}")), "{said}");
    let accepted = run(&["baseline", "update", "first/results.jsonl"]);
    assert_eq!(code(&accepted), 0, "{}", err(&accepted));
    checked(&run(&["run"]), 0);
    assert_eq!(verdict(place.path())["baseline"]["place"], address);

    // Writers who meet.
    let base = std::fs::read_to_string(place.path().join("first/results.jsonl")).expect("results");
    let (first, rest) = base.split_once('\n').expect("lines");
    for at in 0..3 {
        let mut header: serde_json::Value = serde_json::from_str(first).expect("JSON");
        header["id"] = format!("run-{at}").into();
        let rest = rest.replacen("\"value\":1.0", "\"value\":0.0", at + 1);
        std::fs::write(place.path().join(format!("{at}.jsonl")), format!("{header}\n{rest}")).expect("a file");
    }
    std::thread::scope(|scope| {
        for at in 0..3 {
            scope.spawn(move || {
                let output = run(&["baseline", "update", &format!("{at}.jsonl"), "--add"]);
                assert_eq!(code(&output), 0, "{}", err(&output));
            });
        }
    });
    let shown = out(&run(&["baseline", "show", &address]));
    assert_eq!(shown.lines().filter(|line| line.starts_with("run ")).count(), 4, "{shown}");

    // A bucket that is not there is no missing baseline.
    write(&format!("{{ from: \"{scheme}://no-such-place/rag.jsonl\", missing: warn }}"));
    let said = checked(&run(&["run"]), 3);
    assert!(said.contains("could not be fetched") && !said.contains("NO BASELINE"), "{said}");
}

#[test]
fn a_server_that_speaks_s3_keeps_baselines() {
    let Some(server) = moto() else { return };
    keeps_baselines(
        "s3",
        &[
            ("AWS_ENDPOINT_URL", format!("http://127.0.0.1:{}", server.port)),
            ("AWS_ALLOW_HTTP", "true".to_owned()),
            ("AWS_REGION", "us-east-1".to_owned()),
            ("AWS_ACCESS_KEY_ID", "testing-id".to_owned()),
            ("AWS_SECRET_ACCESS_KEY", "testing-secret".to_owned()),
        ],
    );
}

#[test]
fn azure_s_emulator_keeps_baselines() {
    let Some(server) = azurite() else { return };
    let endpoint = format!("http://127.0.0.1:{}/{ACCOUNT}", server.port);
    let variables = |key: &str| {
        vec![
            ("AZURE_STORAGE_ACCOUNT_NAME", ACCOUNT.to_owned()),
            ("AZURE_STORAGE_ACCOUNT_KEY", key.to_owned()),
            ("AZURE_STORAGE_ENDPOINT", endpoint.clone()),
            ("AZURE_ALLOW_HTTP", "true".to_owned()),
        ]
    };
    keeps_baselines("az", &variables(KEY));
    // Who may not read is told so, and it is no missing baseline.
    let place = folder(&[("data.jsonl", &rows(30, 0))]);
    let text = suite("0.9", "  baseline: { from: \"az://baselines/main/rag.jsonl\", missing: warn }\n");
    std::fs::write(place.path().join("scoregate.yaml"), text).expect("a file");
    let wrong = BASE64.encode([7; 64]);
    let output = command(place.path(), &["run"]).envs(variables(&wrong)).output().expect("the binary starts");
    let said = checked(&output, 3);
    assert!(said.contains("could not be fetched") && !said.contains(&wrong), "{said}");
}
