//! The house rules that a compiler does not check: who may import whom, where printing and the environment are allowed,
//! how large files get. Every breach is named with file and line.
#![allow(clippy::unwrap_used, reason = "tests")]

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// Rooms and whom they may import. A room that is not built yet may stand here; a room that is built must.
const IMPORTS: &[(&str, &[&str])] = &[
    ("domain", &[]),
    ("diagnostic", &[]),
    ("stats", &[]),
    ("text", &[]),
    ("net", &["domain"]),
    ("suite", &["domain", "diagnostic", "text"]),
    ("store", &["domain", "net"]),
    ("provider", &["domain", "diagnostic", "suite", "net"]),
    ("rows", &["domain", "diagnostic", "suite", "text"]),
    ("peer", &["domain", "diagnostic", "text", "store", "rows"]),
    ("dataset", &["domain", "diagnostic", "suite", "text", "net", "peer", "provider", "rows"]),
    ("target", &["domain", "diagnostic", "suite", "text", "net", "provider", "rows"]),
    ("evaluator", &["domain", "diagnostic", "suite", "text", "stats", "net", "provider", "rows"]),
    ("engine", &["domain", "diagnostic", "suite", "net", "target", "evaluator", "store"]),
    ("gate", &["domain", "diagnostic", "suite", "text", "stats"]),
    ("report", &["domain", "diagnostic", "suite", "text", "store"]),
    ("alert", &["domain", "diagnostic", "suite", "text", "net"]),
    ("host", &["domain", "diagnostic", "suite", "net", "report"]),
    (
        "cli",
        &[
            "domain",
            "diagnostic",
            "stats",
            "text",
            "net",
            "suite",
            "store",
            "peer",
            "provider",
            "rows",
            "dataset",
            "target",
            "evaluator",
            "engine",
            "gate",
            "report",
            "alert",
            "host",
        ],
    ),
];

/// Where something may be written to the screen.
const PRINTING: &[&str] = &["src/report/console", "src/cli", "src/main.rs"];
/// Where the environment may be read.
const ENVIRONMENT: &[&str] = &["src/main.rs"];
/// Where a clock may be read: to wait, to give up and to show progress. What results and hosts are told is read in `cli/clock.rs`.
const CLOCKS: &[&str] = &[
    "src/engine",
    "src/net",
    // When a row was written, and how long a locked file is waited for.
    "src/store/ledger",
    "src/store/batches.rs",
    "src/host/github/api.rs",
    "src/host/rest.rs",
    "src/report/console/progress.rs",
    "src/cli/clock.rs",
];
/// Lines of a file, and the files that may have more.
const LONGEST: usize = 500;
const LONGER: &[&str] = &[];

struct File {
    /// `src/host/mod.rs`
    name: String,
    text: String,
    /// The text with comments and literals blanked out, line by line as before.
    code: String,
}

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn walk(folder: &Path, found: &mut Vec<PathBuf>) {
    let mut entries: Vec<PathBuf> = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    entries.sort();
    for path in entries {
        if path.is_dir() {
            walk(&path, found);
        } else {
            found.push(path);
        }
    }
}

fn name_of(path: &Path) -> String {
    path.strip_prefix(root()).unwrap().to_str().unwrap().replace('\\', "/")
}

fn sources() -> Vec<File> {
    let mut paths = Vec::new();
    walk(&root().join("src"), &mut paths);
    paths.retain(|path| path.extension().is_some_and(|extension| extension == "rs"));
    let read = |path: &PathBuf| {
        let text = std::fs::read_to_string(path).unwrap();
        File { name: name_of(path), code: blank(&text), text }
    };
    paths.iter().map(read).collect()
}

fn report(rule: &str, breaches: &[String]) {
    assert!(breaches.is_empty(), "{rule}:\n  {}\n", breaches.join("\n  "));
}

fn line_of(code: &str, offset: usize) -> usize {
    code[..offset].matches('\n').count() + 1
}

/// Comments, strings and characters become blanks; line ends stay.
fn blank(text: &str) -> String {
    let chars: Vec<char> = text.chars().collect();
    let at = |index: usize| chars.get(index).copied().unwrap_or('\0');
    let mut out = String::with_capacity(text.len());
    let mut i = 0;
    while i < chars.len() {
        let end = if at(i) == '/' && at(i + 1) == '/' {
            (i..chars.len()).find(|j| chars[*j] == '\n').unwrap_or(chars.len())
        } else if at(i) == '/' && at(i + 1) == '*' {
            end_of_comment(&chars, i)
        } else if let Some(end) = end_of_literal(&chars, i) {
            end
        } else {
            // A whole word at once, so that the `r` of `var"` is no raw string.
            let word =
                (i..chars.len()).find(|j| !(chars[*j].is_alphanumeric() || chars[*j] == '_')).unwrap_or(chars.len());
            let end = word.max(i + 1);
            out.extend(&chars[i..end]);
            i = end;
            continue;
        };
        out.extend(chars[i..end].iter().map(|c| if *c == '\n' { '\n' } else { ' ' }));
        i = end;
    }
    out
}

fn end_of_comment(chars: &[char], start: usize) -> usize {
    let (mut depth, mut i) = (0, start);
    while i < chars.len() {
        match (chars[i], chars.get(i + 1)) {
            ('/', Some('*')) => (depth, i) = (depth + 1, i + 2),
            ('*', Some('/')) => (depth, i) = (depth - 1, i + 2),
            _ => i += 1,
        }
        if depth == 0 {
            return i;
        }
    }
    chars.len()
}

/// The end of the string, raw string or character that starts here; `None` if none does.
fn end_of_literal(chars: &[char], start: usize) -> Option<usize> {
    let at = |index: usize| chars.get(index).copied().unwrap_or('\0');
    let mut i = start;
    if matches!(at(i), 'b' | 'c') && matches!(at(i + 1), '"' | '\'' | 'r') {
        i += 1;
    }
    if at(i) == 'r' && matches!(at(i + 1), '"' | '#') {
        let hashes = (i + 1..).take_while(|j| at(*j) == '#').count();
        if at(i + 1 + hashes) != '"' {
            return None;
        }
        let close: Vec<char> = std::iter::once('"').chain(std::iter::repeat_n('#', hashes)).collect();
        let body = i + 2 + hashes;
        return Some(
            (body..chars.len()).find(|j| chars[*j..].starts_with(&close)).map_or(chars.len(), |j| j + close.len()),
        );
    }
    let quote = at(i);
    match quote {
        '"' => {}
        // A lifetime is followed by no quote.
        '\'' if at(i + 1) == '\\' || at(i + 2) == '\'' => {}
        _ => return None,
    }
    i += 1;
    while i < chars.len() && chars[i] != quote {
        i += if chars[i] == '\\' { 2 } else { 1 };
    }
    Some((i + 1).min(chars.len()))
}

fn word(code: &str) -> &str {
    let end = code.find(|c: char| !(c.is_alphanumeric() || c == '_')).unwrap_or(code.len());
    &code[..end]
}

/// First names of the paths after `crate::` or a `super::` that leaves the room: `crate::{a::{b, c}, d}` gives a and d.
fn first_names(after: &str) -> Vec<&str> {
    let after = after.trim_start();
    let Some(list) = after.strip_prefix('{') else { return vec![word(after)] };
    let (mut depth, mut names, mut expecting) = (0, Vec::new(), true);
    for (index, c) in list.char_indices() {
        match c {
            '{' => depth += 1,
            '}' if depth == 0 => break,
            '}' => depth -= 1,
            ',' if depth == 0 => expecting = true,
            c if expecting && (c.is_alphabetic() || c == '_') => {
                names.push(word(&list[index..]));
                expecting = false;
            }
            _ => {}
        }
    }
    names
}

/// (offset, name) of everything a file takes from the crate's root.
fn taken_from_root<'a>(file: &File, code: &'a str) -> Vec<(usize, &'a str)> {
    let mut taken = Vec::new();
    for (offset, _) in code.match_indices("crate::") {
        if !code[..offset].ends_with(|c: char| c.is_alphanumeric() || c == '_') {
            taken.extend(first_names(&code[offset + "crate::".len()..]).into_iter().map(|name| (offset, name)));
        }
    }
    let mut from = 0;
    while let Some(found) = code[from..].find("super::") {
        let offset = from + found;
        let mut end = offset;
        let mut climbs = 0;
        while code[end..].starts_with("super::") {
            climbs += 1;
            end += "super::".len();
        }
        if climbs >= depth_of(&file.name) + inline_modules_around(code, offset) {
            taken.extend(first_names(&code[end..]).into_iter().map(|name| (offset, name)));
        }
        from = end;
    }
    taken
}

/// Modules from the root to the file's own: `src/host/mod.rs` 1, `src/host/context.rs` 2.
fn depth_of(name: &str) -> usize {
    name.trim_start_matches("src/").trim_end_matches("/mod.rs").matches('/').count() + 1
}

fn inline_modules_around(code: &str, offset: usize) -> usize {
    let opened = code[..offset].match_indices("mod ").filter(|(start, _)| {
        let rest = &code[start + "mod ".len()..];
        let Some(brace) = rest.trim_start().strip_prefix(word(rest.trim_start())) else { return false };
        if !brace.trim_start().starts_with('{') {
            return false;
        }
        let between = &code[*start..offset];
        between.matches('{').count() > between.matches('}').count()
    });
    opened.count()
}

fn room_of(name: &str) -> Option<&str> {
    name.strip_prefix("src/")?.split_once('/').map(|(room, _)| room)
}

#[test]
fn rooms_import_only_whom_the_table_allows() {
    let table: BTreeMap<&str, &[&str]> = IMPORTS.iter().copied().collect();
    let mut breaches = Vec::new();
    for file in sources() {
        let Some(room) = room_of(&file.name) else { continue };
        let Some(allowed) = table.get(room) else {
            breaches.push(format!("{}: the room `{room}` is not in the table", file.name));
            continue;
        };
        for (offset, name) in taken_from_root(&file, &file.code) {
            if name != room && table.contains_key(name) && !allowed.contains(&name) {
                breaches.push(format!(
                    "{}:{}: `{room}` may not import `{name}`",
                    file.name,
                    line_of(&file.code, offset)
                ));
            }
        }
    }
    report("imports go one way (the table IMPORTS in tests/architecture.rs)", &breaches);
}

#[test]
fn the_table_has_no_way_back() {
    let mut settled: Vec<&str> = Vec::new();
    while settled.len() < IMPORTS.len() {
        let ready = |(room, imports): &&(&str, &[&str])| {
            !settled.contains(room) && imports.iter().all(|import| settled.contains(import))
        };
        let next: Vec<&str> = IMPORTS.iter().filter(ready).map(|(room, _)| *room).collect();
        assert!(!next.is_empty(), "rooms that import each other, or an unknown one; without trouble: {settled:?}");
        settled.extend(next);
    }
}

#[test]
fn printing_environment_and_clocks_have_their_places() {
    let rules: [(&[&str], &[&str]); 3] = [
        (PRINTING, &["println!", "eprintln!", "print!", "eprint!", "dbg!"]),
        (ENVIRONMENT, &["env::var(", "env::var_os(", "env::vars(", "env::vars_os("]),
        (CLOCKS, &["Instant::now(", "SystemTime::now(", "Timestamp::now(", "Zoned::now("]),
    ];
    let mut breaches = Vec::new();
    for file in sources() {
        for (places, words) in rules {
            let clock_of_tests = places == CLOCKS && file.name.contains("/tests");
            if clock_of_tests || places.iter().any(|place| file.name.starts_with(place)) {
                continue;
            }
            for (index, line) in file.code.lines().enumerate() {
                let whole = |needle: &&&str| {
                    line.match_indices(**needle)
                        .any(|(at, _)| !line[..at].ends_with(|c: char| c.is_alphanumeric() || c == '_'))
                };
                let hits = words.iter().filter(whole);
                breaches.extend(hits.map(|needle| format!("{}:{}: `{needle}`", file.name, index + 1)));
            }
        }
    }
    report("printing belongs to report/console and cli, the environment to main.rs, clocks to CLOCKS", &breaches);
}

#[test]
fn files_are_small() {
    let long = |file: &File| {
        let lines = file.text.lines().count();
        (lines > LONGEST && !LONGER.contains(&file.name.as_str())).then(|| format!("{}: {lines} lines", file.name))
    };
    let breaches: Vec<String> = sources().iter().filter_map(long).collect();
    report("one idea a file, at most 500 lines", &breaches);
}

#[test]
fn every_room_has_a_door_and_a_place_in_the_tour() {
    let tour = std::fs::read_to_string(root().join("src/lib.rs")).unwrap();
    let mut breaches = Vec::new();
    for entry in
        std::fs::read_dir(root().join("src")).unwrap().map(|entry| entry.unwrap().path()).filter(|p| p.is_dir())
    {
        let room = entry.file_name().unwrap().to_str().unwrap();
        match std::fs::read_to_string(entry.join("mod.rs")) {
            Ok(door) if door.starts_with("//! ") => {}
            Ok(_) => breaches.push(format!("src/{room}/mod.rs:1: no module doc")),
            Err(_) => breaches.push(format!("src/{room}: no mod.rs")),
        }
        if !tour.contains(&format!("pub mod {room};")) || !tour.contains(&format!("[`{room}`]")) {
            breaches.push(format!("src/lib.rs: `{room}` is not declared, or not in the tour"));
        }
    }
    report("every room has a mod.rs with a module doc, and a line in lib.rs", &breaches);
}

#[test]
fn every_file_is_part_of_the_crate() {
    let files = sources();
    let code: BTreeMap<&str, &str> = files.iter().map(|file| (file.name.as_str(), file.code.as_str())).collect();
    let mut breaches = Vec::new();
    for file in &files {
        let module = file.name.trim_end_matches("/mod.rs").trim_end_matches(".rs");
        let Some((folder, module)) = module.rsplit_once('/').filter(|(_, name)| !matches!(*name, "lib" | "main"))
        else {
            continue;
        };
        let parents = [format!("{folder}/mod.rs"), format!("{folder}.rs"), format!("{folder}/lib.rs")];
        let declared = |code: &str| {
            code.match_indices(&format!("mod {module};"))
                .any(|(at, _)| !code[..at].ends_with(|c: char| c.is_alphanumeric()))
        };
        if !parents.iter().any(|parent| code.get(parent.as_str()).is_some_and(|code| declared(code))) {
            breaches.push(format!("{}: no `mod {module};` in {}", file.name, parents[0]));
        }
    }
    report("a file that nobody declares is not compiled", &breaches);
}

#[test]
fn nothing_refers_to_the_machine_it_was_written_on() {
    let mut paths = Vec::new();
    for folder in ["src", "tests", "benches", "docs", "azure", ".github", ".ci"] {
        walk(&root().join(folder), &mut paths);
    }
    for name in ["README.md", "CHANGELOG.md", "Cargo.toml", "Containerfile", "book.toml", "deny.toml", "action.yml"] {
        paths.push(root().join(name));
    }
    let mut breaches = Vec::new();
    for path in paths {
        let Ok(text) = std::fs::read_to_string(&path) else { continue };
        for (index, line) in text.lines().enumerate() {
            if [concat!("/wo", "rk/"), concat!("/ho", "me/"), concat!("/ro", "ot/")]
                .iter()
                .any(|start| line.contains(start))
            {
                breaches.push(format!("{}:{}: {}", name_of(&path), index + 1, line.trim()));
            }
        }
    }
    report("paths of one machine", &breaches);
}

/// First cells of the rows of a Markdown table whose header begins with that cell.
fn first_cells<'t>(text: &'t str, header: &str) -> Vec<&'t str> {
    let mut lines = text.lines().skip_while(|line| !line.starts_with(&format!("| {header} |")));
    let (_, _) = (lines.next(), lines.next());
    let rows = lines.take_while(|line| line.starts_with("| "));
    rows.filter_map(|row| row.split('|').nth(1)).map(str::trim).collect()
}

/// The numbers of a text, each once, sorted.
fn numbers(text: &str) -> BTreeSet<u32> {
    text.split(|c: char| !c.is_ascii_digit()).filter_map(|digits| digits.parse().ok()).collect()
}

#[test]
fn exit_codes_are_the_same_in_code_readme_help_and_action() {
    let source = std::fs::read_to_string(root().join("src/cli/exit_code.rs")).unwrap();
    let (_, body) = source.split_once("fn code(self)").unwrap();
    let (body, _) = body.split_once("\n    }\n").unwrap();
    let arms = body.lines().filter_map(|line| line.split_once("=> "));
    let codes: BTreeSet<u32> = arms.map(|(_, code)| code.trim_end_matches(',').parse().unwrap()).collect();
    assert_eq!(codes, BTreeSet::from([0, 1, 2, 3, 130, 143]), "the contract of the README");

    let readme = std::fs::read_to_string(root().join("README.md")).unwrap();
    assert_eq!(numbers(&first_cells(&readme, "code").join(" ")), codes, "the table in the README");
    let args = std::fs::read_to_string(root().join("src/cli/args/mod.rs")).unwrap();
    let (_, help) = args.split_once("const EXIT_CODES: &str = ").unwrap();
    assert_eq!(numbers(help.split_once("\";").unwrap().0), codes, "the help");
    let action = std::fs::read_to_string(root().join("action.yml")).unwrap();
    let (_, output) = action.split_once("exit-code:\n    description: ").unwrap();
    assert_eq!(numbers(output.lines().next().unwrap()), BTreeSet::from([0, 1, 2, 3]), "the action's output");
}

/// `tests/integration/action.rs` holds the other direction: every input is used.
#[test]
fn the_action_s_script_reads_only_what_action_yml_gives_it() {
    let action = std::fs::read_to_string(root().join("action.yml")).unwrap();
    let script = std::fs::read_to_string(root().join(".github/action/run.sh")).unwrap();
    let mut breaches = Vec::new();
    for (at, _) in script.match_indices("SCOREGATE_ACTION_") {
        let name = word(&script[at..]);
        if name != "SCOREGATE_ACTION_" && !action.contains(&format!("        {name}: ")) {
            breaches.push(format!(".github/action/run.sh:{}: `{name}`", line_of(&script, at)));
        }
    }
    report("variables that action.yml does not set", &breaches);
}

#[test]
fn every_file_begins_with_what_it_is_for() {
    let tests = |name: &str| name.contains("/tests") || name.ends_with("/samples.rs");
    let bare = |file: &File| (!file.text.starts_with("//! ") && !tests(&file.name)).then(|| format!("{}:1", file.name));
    let breaches: Vec<String> = sources().iter().filter_map(bare).collect();
    report("a file begins with a module doc", &breaches);
}

/// The reader of sources is code too.
#[test]
fn comments_and_literals_are_no_code() {
    let text = r##"a /* crate::x /* y */ */ b // crate::z
"crate::s \" t" r#"crate::"r"# 'c' '\'' b'x' &'a str br"x" var"q" end"##;
    let code = blank(text);
    assert_eq!(code.split_whitespace().collect::<Vec<_>>(), ["a", "b", "&'a", "str", "var", "end"]);
    assert_eq!(code.lines().count(), 2);
}

#[test]
fn imports_are_found_in_every_form() {
    let file = |name: &str, code: &str| File { name: name.to_owned(), text: String::new(), code: code.to_owned() };
    let names = |name: &str, code: &str| {
        taken_from_root(&file(name, code), code).into_iter().map(|(_, name)| name.to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(names("src/host/mod.rs", "use crate::net::X; fn f() { crate::stats::mean() }"), ["net", "stats"]);
    assert_eq!(
        names("src/host/mod.rs", "use crate::{\n domain::{A, B},\n gate, text::c::{self}};"),
        ["domain", "gate", "text"]
    );
    assert_eq!(names("src/host/a.rs", "use super::super::gate::X; use super::b;"), ["gate"]);
    assert_eq!(names("src/host/mod.rs", "use super::gate::X;"), ["gate"]);
    assert_eq!(names("src/host/mod.rs", "mod tests { use super::gate; }"), Vec::<String>::new());
    assert_eq!(names("src/host/mod.rs", "use mycrate::x;"), Vec::<String>::new());
}
