//! The whole room against a GitHub on loopback that checks every request against the contract.

#[path = "../../../tests/integration/support/fake_github.rs"]
mod fake_github;

#[path = "../../../tests/integration/support/fake_azure.rs"]
mod fake_azure;
#[path = "../../../tests/integration/support/fake_gitlab.rs"]
mod fake_gitlab;
#[path = "../../../tests/integration/support/fake_server.rs"]
mod fake_server;

mod azure;
mod change;
mod check;
mod comment;
mod files;
mod gitlab;
mod refusal;

use std::path::Path;
use std::time::{Duration, Instant, SystemTime};

use fake_github::{FakeGithub, Fault};

use super::*;
use crate::domain::{Decision, Env};
use crate::report::marker;

const TOKEN: &str = "ghs_0123456789abcdef";

fn fixture(name: &str) -> Vec<u8> {
    std::fs::read(Path::new("fixtures/cases/comments").join(name)).unwrap()
}

/// A runner's environment for the event payload at `payload`.
fn environment(github: &FakeGithub, folder: &Path, event: &str, payload: &str) -> Vec<(String, String)> {
    let file = |name: &str| folder.join(name).display().to_string();
    [
        ("GITHUB_ACTIONS", "true".to_owned()),
        ("GITHUB_API_URL", github.url.clone()),
        ("GITHUB_SERVER_URL", "https://github.test".to_owned()),
        ("GITHUB_REPOSITORY", "octo/demo".to_owned()),
        ("GITHUB_RUN_ID", "99".to_owned()),
        ("GITHUB_EVENT_NAME", event.to_owned()),
        ("GITHUB_EVENT_PATH", payload.to_owned()),
        ("GITHUB_STEP_SUMMARY", file("summary.md")),
        ("GITHUB_OUTPUT", file("output")),
        ("GITHUB_TOKEN", TOKEN.to_owned()),
    ]
    .map(|(name, value)| (name.to_owned(), value))
    .into()
}

fn publication(text: &str) -> Publication {
    Publication {
        key: "support-rag".to_owned(),
        comment_markdown: Some(text.to_owned()),
        standing: Standing::Open,
        outdated: None,
        summary_markdown: format!("# Summary\n\n{text}\n"),
        annotations: Vec::new(),
        outputs: Outputs {
            verdict: Decision::Failed,
            exit_code: 1,
            regressions: 2,
            junit_path: Some("scoregate-out/junit.xml".into()),
            summary_path: Some("scoregate-out/summary.md".into()),
        },
        tests: true,
        check: None,
    }
}

/// Without a pool: the fake closes each connection, and one fixture does not say so.
fn client() -> reqwest::Client {
    let _installed_by_another_test = rustls::crypto::ring::default_provider().install_default();
    let roots =
        webpki_root_certs::TLS_SERVER_ROOT_CERTS.iter().filter_map(|der| reqwest::Certificate::from_der(der).ok());
    reqwest::Client::builder()
        .redirect(reqwest::redirect::Policy::none())
        .pool_max_idle_per_host(0)
        .tls_certs_merge(roots)
        .no_proxy()
        .build()
        .unwrap()
}

/// One job: its folder, what was published, and how long it took.
struct Job {
    folder: tempfile::TempDir,
    published: Published,
    took: Duration,
}

impl Job {
    fn outputs(&self) -> String {
        std::fs::read_to_string(self.folder.path().join("output")).unwrap()
    }

    fn summary(&self) -> String {
        std::fs::read_to_string(self.folder.path().join("summary.md")).unwrap()
    }

    /// Summary and outputs are there whatever became of the comment, and say the verdict's code.
    fn verdict_is_unchanged(&self) {
        assert!(self.outputs().contains("verdict=failed\npassed=false\nexit-code=1\nregressions=2\n"));
        assert!(self.summary().starts_with("# Summary"));
    }

    fn one_warning(&self) -> String {
        assert_eq!(self.published.warnings.len(), 1, "{:?}", self.published.warnings);
        assert_eq!(self.published.comment_url, None);
        self.verdict_is_unchanged();
        self.published.warnings[0].to_string()
    }
}

fn quick(context: &mut HostContext) {
    let patience = match &mut context.settings {
        Settings::GitHub(settings) => &mut settings.patience,
        Settings::Azure(settings) => &mut settings.patience,
        Settings::GitLab(settings) => &mut settings.patience,
    };
    patience.backoff = Duration::from_millis(10);
}

fn run(github: &FakeGithub, publication: &Publication) -> Job {
    run_event(github, "pull_request", "fixtures/cases/comments/event-pull-request.json", publication, &[])
}

fn run_event(github: &FakeGithub, event: &str, payload: &str, publication: &Publication, more: &[(&str, &str)]) -> Job {
    let folder = tempfile::tempdir().unwrap();
    let more = more.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
    let env = Env::from_pairs(environment(github, folder.path(), event, payload).into_iter().chain(more));
    let mut context = detect(&env).unwrap();
    quick(&mut context);
    let start = Instant::now();
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    let published = runtime.block_on(publish(&context, publication, Ok(client())));
    assert_eq!(github.violations(), Vec::<String>::new(), "the contract is broken");
    Job { folder, published, took: start.elapsed() }
}
