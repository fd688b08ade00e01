//! The runners of other systems and servers, by stand-ins for the programs that tell them apart.

use super::*;

/// Programs of another machine, found before this one's.
fn with_stubs(runner: Runner, stubs: &[(&str, &str)]) -> Runner {
    let folder = runner.path("stubs");
    std::fs::create_dir_all(&folder).unwrap();
    for (name, script) in stubs {
        let text = runner.path("stub.txt");
        std::fs::write(&text, format!("#!/bin/sh\n{script}\n")).unwrap();
        copy(&text, &folder.join(name));
        std::fs::set_permissions(folder.join(name), std::fs::Permissions::from_mode(0o755)).unwrap();
    }
    let path = format!("{}:{}", folder.display(), std::env::var("PATH").unwrap());
    runner.with("PATH", path)
}

fn uname(system: &str, machine: &str) -> String {
    format!("if [ \"$1\" = -m ]; then echo {machine}; else echo {system}; fi")
}

impl Runner {
    /// A release archive for `target` whose program, `name`, says with which of Git bash's switches it was started.
    fn hold_for(&self, target: &str, name: &str) -> Vec<u8> {
        let text = self.path("stand-in.txt");
        std::fs::write(&text, "#!/bin/sh\nprintf '<%s>' \"${MSYS_NO_PATHCONV:-none}\" \"$@\"\n").unwrap();
        copy(&text, &self.path(name));
        std::fs::set_permissions(self.path(name), std::fs::Permissions::from_mode(0o755)).unwrap();
        let made = Command::new("tar").args(["-czf", "a.tgz", name]).current_dir(self.folder.path()).status();
        assert!(made.unwrap().success());
        let bytes = std::fs::read(self.path("a.tgz")).unwrap();
        let digest: String = Sha256::digest(&bytes).iter().map(|byte| format!("{byte:02x}")).collect();
        let table = format!("{digest}  scoregate-0.1.0-{target}.tar.gz\n");
        std::fs::write(self.path("the action/.github/action/checksums.txt"), table).unwrap();
        bytes
    }
}

/// What differs between the runners' systems: the archive's name, the program's, backslashes, Git bash's own idea of paths.
#[test]
fn every_system_gets_its_own_archive() {
    for (system, machine, target, name) in [
        ("Linux", "x86_64", "x86_64-unknown-linux-musl", "scoregate"),
        ("Linux", "aarch64", "aarch64-unknown-linux-musl", "scoregate"),
        ("Darwin", "arm64", "aarch64-apple-darwin", "scoregate"),
        ("Darwin", "x86_64", "x86_64-apple-darwin", "scoregate"),
        ("MINGW64_NT-10.0-26100", "x86_64", "x86_64-pc-windows-msvc", "scoregate.exe"),
        ("MSYS_NT-10.0-20348", "x86_64", "x86_64-pc-windows-msvc", "scoregate.exe"),
    ] {
        let runner = Runner::new();
        let archive = runner.hold_for(target, name);
        let windows = name.ends_with(".exe");
        let place = |folder: &str| {
            let place = runner.path(folder).display().to_string();
            if windows { place.replace('/', "\\") } else { place }
        };
        let (temporary, cache) = (place("temp"), place("cache"));
        let address = serve(archive.clone(), archive.len());
        let runner = with_stubs(runner, &[("uname", &uname(system, machine))])
            .with("RUNNER_TEMP", temporary)
            .with("RUNNER_TOOL_CACHE", cache)
            .served_from(&address)
            .with("SCOREGATE_ACTION_ARGUMENTS", "--case=/^q/");
        let output = runner.run();
        let switch = if windows { "1" } else { "none" };
        assert_eq!(said(&output), format!("<{switch}><run><--case=/^q/><--><scoregate.yaml>"), "{system} {machine}");
        assert!(runner.outputs().trim_end().ends_with(&format!("/{name}")), "{}", runner.outputs());
    }
    for (system, machine) in [("Linux", "riscv64"), ("SunOS", "x86_64")] {
        let runner = with_stubs(Runner::new(), &[("uname", &uname(system, machine))]);
        refused(&runner.run(), 2, "there is no scoregate binary for");
    }
    let runner = Runner::new();
    runner.program("built.exe");
    let runner = with_stubs(runner, &[("uname", &uname("MINGW64_NT-10.0", "x86_64"))]);
    assert_eq!(said(&runner.with("SCOREGATE_ACTION_BINARY", "..\\built.exe").run()), "<run><--><scoregate.yaml>");
}

/// The server that the job belongs to first, then github.com; an attestation where GitHub has them.
#[test]
fn downloads_come_from_the_job_s_server_or_github_com_and_are_attested() {
    const GITHUB: &str = "https://github.com";
    const GHES: &str = "https://ghes.example";
    let release = |server: &str| format!("{server}/octo/scoregate/releases/download/v0.1.0/{}", asset());
    // The server of the job, whose releases are there, whether gh is content, and the code.
    for (server, has, content, code) in [
        (GITHUB, GITHUB, true, 0),
        (GITHUB, GITHUB, false, 3),
        (GITHUB, "nowhere", true, 3),
        (GHES, GHES, false, 0),
        (GHES, GITHUB, false, 0),
    ] {
        let runner = Runner::new();
        let archive = runner.archive();
        runner.hold(&archive);
        let log = runner.path("log");
        let curl = format!(
            "for a; do [ \"$last\" = --output ] && out=$a; last=$a; done\necho \"$last $*\" >> '{}'\ncase $last in {has}/*) cp '{}' \"$out\" ;; *) exit 22 ;; esac",
            log.display(),
            runner.path("a.tgz").display()
        );
        let gh = format!(
            "echo \"gh $* ${{GH_TOKEN:-none}}\" >> '{}'\ncase \"$*\" in *--help) ;; *) {content} ;; esac",
            log.display()
        );
        let runner = with_stubs(runner, &[("curl", &curl), ("gh", &gh)])
            .with("GITHUB_SERVER_URL", server)
            .with("GITHUB_TOKEN", "ghs_0123456789")
            .with("STAND_IN_CODE", 0);
        let output = runner.run();
        assert_eq!(output.status.code(), Some(code), "{server} {has} {content}: {}", said(&output));
        let log = std::fs::read_to_string(log).unwrap();
        let asked: Vec<&str> = log.lines().filter(|line| line.starts_with("https://")).collect();
        assert!(
            asked.iter().all(|line| line.contains("--proto =https") && line.contains("--proto-redir =https")),
            "{log}"
        );
        let mut servers = vec![server];
        servers.extend((server == GHES && has == GITHUB).then_some(GITHUB));
        let asked: Vec<&str> = asked.iter().filter_map(|line| line.split(' ').next()).collect();
        assert_eq!(asked, servers.iter().map(|server| release(server)).collect::<Vec<_>>());
        let verified = log.lines().any(|line| {
            line.starts_with("gh attestation verify ") && line.ends_with("--repo octo/scoregate ghs_0123456789")
        });
        assert_eq!(verified, server == GITHUB && has == GITHUB, "{log}");
    }
}
