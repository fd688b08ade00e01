//! Downloads of the action's script in tests: a `curl` before the real one that serves github.com's releases from another place, and
//! refuses whoever asks for more than https allows.

use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::Command;

/// The search path with that `curl` in it, in a folder of its own below `folder`. `releases`: an address that `vVERSION/ASSET` is put behind.
pub fn served_from(folder: &Path, releases: &str, path: &str) -> String {
    let stubs = folder.join("downloads");
    std::fs::create_dir_all(&stubs).expect("a folder");
    let text = format!(
        "#!/bin/sh\n\
         case \" $* \" in *' --proto =https --proto-redir =https '*) ;; *) echo \"not https alone: $*\" >&2; exit 90 ;; esac\n\
         for word; do [ \"$last\" = --output ] && out=$word; last=$word; done\n\
         case $last in https://github.com/*/releases/download/*) ;; *) echo \"no release: $last\" >&2; exit 91 ;; esac\n\
         PATH=${{PATH#*downloads:}}\n\
         exec curl --fail --silent --show-error --connect-timeout 20 --output \"$out\" \
         \"{releases}/${{last#*/releases/download/}}\"\n"
    );
    std::fs::write(folder.join("curl.txt"), text).expect("a file");
    let curl = stubs.join("curl");
    // By a process of its own: a program that is still open for writing somewhere is not run.
    assert!(Command::new("cp").arg(folder.join("curl.txt")).arg(&curl).status().expect("cp").success());
    std::fs::set_permissions(&curl, std::fs::Permissions::from_mode(0o755)).expect("a program");
    format!("{}:{path}", stubs.display())
}
