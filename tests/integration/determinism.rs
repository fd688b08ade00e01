//! Same input, same output: whatever the workers, the locale, the time zone (R16).

use std::process::Command;

use crate::command::root;

/// Without the declared time fields: the run's start in `results.jsonl` and JUnit, the elapsed time, and the run's id made from the start.
fn reports(arguments: &[&str], environment: &[(&str, &str)]) -> Vec<(String, String)> {
    let folder = tempfile::tempdir().expect("a folder");
    let output = Command::new(env!("CARGO_BIN_EXE_scoregate"))
        .args(["run", "fixtures/quickstart/regressed.yaml", "--out"])
        .arg(folder.path())
        .args(arguments)
        .current_dir(root())
        .env_clear()
        .env("PATH", std::env::var_os("PATH").unwrap_or_default())
        .envs(environment.iter().copied())
        .output()
        .expect("the binary starts");
    assert_eq!(output.status.code(), Some(1));
    let mut files = Vec::new();
    for name in ["results.jsonl", "verdict.json", "junit.xml", "comment.md"] {
        let text = std::fs::read_to_string(folder.path().join(name)).expect(name);
        let lines = text.lines().map(|line| match name {
            "results.jsonl" if line.starts_with("{\"type\":\"run\"") || line.starts_with("{\"type\":\"end\"") => {
                let mut value: serde_json::Value = serde_json::from_str(line).expect("JSON");
                let object = value.as_object_mut().expect("an object");
                for field in ["started", "elapsed_ms", "id"] {
                    object.remove(field);
                }
                value.to_string()
            }
            "junit.xml" => line.split(' ').filter(|word| !word.starts_with("timestamp=")).collect(),
            _ => line.to_owned(),
        });
        files.push((name.to_owned(), lines.collect::<Vec<_>>().join("\n")));
    }
    files
}

#[test]
fn ju_locale_and_workers_change_no_byte() {
    let plain = reports(&["--workers", "1"], &[]);
    let variants: [(&str, &str, &str); 6] = [
        ("16", "C", "UTC"),
        ("64", "de_DE.UTF-8", "Asia/Kathmandu"),
        ("3", "ar_EG.UTF-8", "America/St_Johns"),
        ("8", "tr_TR.UTF-8", "UTC"),
        ("2", "zh_CN.UTF-8", "Asia/Shanghai"),
        ("1", "POSIX", "Pacific/Chatham"),
    ];
    for (workers, locale, zone) in variants {
        let other = reports(&["--workers", workers], &[("LANG", locale), ("LC_ALL", locale), ("TZ", zone)]);
        for ((name, one), (_, two)) in plain.iter().zip(&other) {
            assert!(one == two, "{name} differs with {workers} workers, {locale}, {zone}");
        }
    }
}
