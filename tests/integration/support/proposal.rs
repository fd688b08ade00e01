//! A repository with a main branch, a change to it, and the clone of a CI that is to judge the change.

use std::path::{Path, PathBuf};
use std::process::Output;

use serde_json::json;

use crate::command::{command, err, git, scoregate};

pub const SUITE: &str = "scoregate.yaml";

/// Rows of recorded answers, of which the last `wrong` are wrong; the first is tagged.
pub fn rows(count: usize, wrong: usize) -> String {
    let row = |at: usize| {
        let answer = if at + wrong < count { "yes" } else { "no" };
        let tags = if at == 0 { ",\"tags\":[\"critical\"]" } else { "" };
        format!("{{\"id\":\"q{at:02}\",\"input\":\"{at}?\",\"reference\":\"yes\",\"answer\":\"{answer}\"{tags}}}\n")
    };
    (0..count).map(row).collect()
}

pub fn suite(min: &str, more: &str) -> String {
    format!(
        "version: 1\nname: rag\ndataset: {{ path: data.jsonl }}\nevaluators:\n  quality: {{ use: exact_match }}\ngate:\n  metrics:\n    \
         quality: {{ min: {min}, mode: point }}\n  must_pass: {{ tags: [critical] }}\n{more}"
    )
}

pub const COMPARED: &str = "  baseline: { path: base.jsonl }\n";

/// `origin.git`, the author's clone `author`, and the clones of the CI.
pub struct Proposal {
    folder: tempfile::TempDir,
}

impl Proposal {
    /// A main branch with these files, and 30 right answers.
    pub fn new(files: &[(&str, &str)]) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let new = Self { folder };
        std::fs::create_dir(new.path("author")).expect("a folder");
        git(new.folder.path(), &["init", "--quiet", "--bare", "-b", "main", "origin.git"]);
        git(&new.author(), &["init", "--quiet", "-b", "main"]);
        git(&new.author(), &["remote", "add", "origin", &new.origin()]);
        new.write("data.jsonl", &rows(30, 0));
        for (name, text) in files {
            new.write(name, text);
        }
        new
    }

    /// With a suite of at least 0.9, and an accepted baseline of right answers.
    pub fn usual() -> Self {
        let new = Self::new(&[(SUITE, &suite("0.9", ""))]);
        new.accept();
        new.write(SUITE, &suite("0.9", COMPARED));
        new.commit("begin");
        new.push("main");
        new
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// As a clone over a protocol: only then is a clone shallow.
    pub fn origin(&self) -> String {
        format!("file://{}", self.path("origin.git").display())
    }

    pub fn author(&self) -> PathBuf {
        self.path("author")
    }

    pub fn write(&self, name: &str, text: &str) {
        let path = self.author().join(name);
        std::fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
        std::fs::write(path, text).expect("a file");
    }

    /// Accepts a run of the author's files into `base.jsonl`.
    pub fn accept(&self) {
        let out = self.path("accepted");
        let out = out.display().to_string();
        let measured = scoregate(&self.author(), &["run", "--out", &out]);
        assert!(matches!(measured.status.code(), Some(0 | 1)), "{}", err(&measured));
        let accepted =
            scoregate(&self.author(), &["baseline", "update", &format!("{out}/results.jsonl"), "--to", "base.jsonl"]);
        assert!(accepted.status.success(), "{}", err(&accepted));
    }

    pub fn commit(&self, message: &str) -> String {
        git(&self.author(), &["add", "--all"]);
        git(&self.author(), &["commit", "--quiet", "--allow-empty", "-m", message]);
        git(&self.author(), &["rev-parse", "HEAD"])
    }

    pub fn push(&self, name: &str) {
        git(&self.author(), &["push", "--quiet", "--force", "origin", &format!("HEAD:{name}")]);
    }

    /// The change on a branch of its own, from where main is; then the pull request's refs as GitHub makes them.
    pub fn propose(&self, change: impl FnOnce(&Self)) -> Pull {
        git(&self.author(), &["checkout", "--quiet", "-b", "change"]);
        change(self);
        let head = self.commit("change");
        self.push("refs/heads/change");
        self.push("refs/pull/1/head");
        git(&self.author(), &["checkout", "--quiet", "main"]);
        let base = git(&self.author(), &["rev-parse", "HEAD"]);
        git(&self.author(), &["checkout", "--quiet", "--detach"]);
        git(&self.author(), &["merge", "--quiet", "--no-ff", "-m", "merge", "change"]);
        let merged = git(&self.author(), &["rev-parse", "HEAD"]);
        self.push("refs/pull/1/merge");
        Pull { base, head, merged }
    }

    /// What actions/checkout leaves: one commit, detached, and a remote.
    pub fn checkout(&self, name: &str, reference: &str) -> PathBuf {
        let clone = self.path(name);
        std::fs::create_dir(&clone).expect("a folder");
        git(&clone, &["init", "--quiet"]);
        git(&clone, &["remote", "add", "origin", &self.origin()]);
        git(&clone, &["fetch", "--quiet", "--no-tags", "--depth=1", "origin", reference]);
        git(&clone, &["checkout", "--quiet", "--detach", "FETCH_HEAD"]);
        clone
    }
}

/// The commits of a pull request.
pub struct Pull {
    pub base: String,
    pub head: String,
    pub merged: String,
}

/// A job of GitHub Actions for an event of that name.
pub fn job(folder: &Path, event: &str, payload: &serde_json::Value, arguments: &[&str]) -> Output {
    let place = tempfile::tempdir().expect("a folder");
    let file = place.path().join("event.json");
    std::fs::write(&file, payload.to_string()).expect("a file");
    let mut command = command(folder, arguments);
    if arguments[0] == "run" {
        command.arg("--no-comment");
    }
    command
        .env("GITHUB_ACTIONS", "true")
        .env("GITHUB_EVENT_NAME", event)
        .env("GITHUB_EVENT_PATH", file)
        .env("GITHUB_REPOSITORY", "octo/demo")
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .env("GIT_CONFIG_GLOBAL", "/dev/null");
    command.output().expect("the binary starts")
}

impl Pull {
    pub fn payload(&self) -> serde_json::Value {
        json!({ "pull_request": {
            "number": 1,
            "head": { "sha": self.head, "ref": "change", "repo": { "full_name": "octo/demo", "fork": false } },
            "base": { "sha": self.base, "ref": "main", "repo": { "full_name": "octo/demo", "fork": false } },
        } })
    }

    pub fn judged(&self, folder: &Path, more: &[&str]) -> Output {
        let arguments: Vec<&str> = ["run"].into_iter().chain(more.iter().copied()).collect();
        job(folder, "pull_request", &self.payload(), &arguments)
    }
}
