//! Baselines elsewhere: a web server, a branch; what is absent, what cannot be had, what is damaged.

use std::collections::HashMap;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};

use crate::command::{check, checked, code, command, err, fixture, folder, git, scoregate, verdict};
use crate::proposal::{rows, suite};
use crate::raw_server::{RawServer, Step};

/// Path → version and bytes.
type Versions = HashMap<String, (u64, Vec<u8>)>;

/// A web server that keeps what is PUT, with ETags and conditions (RFC 9110, section 13), and notes each request's head.
struct Files {
    url: String,
    kept: Arc<Mutex<Versions>>,
    heads: Arc<Mutex<Vec<String>>>,
}

impl Files {
    fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let url = format!("http://{}", listener.local_addr().expect("an address"));
        let new = Self { url, kept: Arc::default(), heads: Arc::default() };
        let (kept, heads) = (Arc::clone(&new.kept), Arc::clone(&new.heads));
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let (kept, heads) = (Arc::clone(&kept), Arc::clone(&heads));
                std::thread::spawn(move || serve(&stream, &kept, &heads));
            }
        });
        new
    }
}

fn serve(stream: &TcpStream, kept: &Mutex<Versions>, heads: &Mutex<Vec<String>>) -> Option<()> {
    let mut reader = BufReader::new(stream.try_clone().ok()?);
    loop {
        let mut head = String::new();
        while !head.ends_with("\r\n\r\n") {
            if reader.read_line(&mut head).ok()? == 0 {
                return None;
            }
        }
        let header = |name: &str| {
            head.lines().find_map(|line| {
                let (key, value) = line.split_once(':')?;
                key.eq_ignore_ascii_case(name).then(|| value.trim().to_owned())
            })
        };
        let mut body = vec![0; header("content-length").map_or(0, |length| length.parse().expect("a length"))];
        reader.read_exact(&mut body).ok()?;
        heads.lock().expect("the heads").push(head.clone());
        let mut words = head.split(' ');
        let (method, path) = (words.next()?, words.next()?.split('?').next()?.to_owned());
        let mut kept = kept.lock().expect("the files");
        let tag = kept.get(&path).map(|(version, _)| format!("\"v{version}\""));
        let answer = match (method, &tag) {
            ("GET", None) => response("404 Not Found", None, b""),
            ("GET", Some(tag)) => response("200 OK", Some(tag), &kept[&path].1),
            _ if header("if-match").is_some_and(|wanted| tag.as_ref() != Some(&wanted))
                || (header("if-none-match").is_some() && tag.is_some()) =>
            {
                response("412 Precondition Failed", None, b"")
            }
            _ => {
                let version = kept.get(&path).map_or(1, |(version, _)| version + 1);
                kept.insert(path, (version, body));
                response("201 Created", None, b"")
            }
        };
        drop(kept);
        let mut out = stream;
        out.write_all(&answer).ok()?;
    }
}

fn response(status: &str, tag: Option<&str>, body: &[u8]) -> Vec<u8> {
    let tag = tag.map_or_else(String::new, |tag| format!("ETag: {tag}\r\n"));
    let mut answer = format!("HTTP/1.1 {status}\r\n{tag}Content-Length: {}\r\n\r\n", body.len()).into_bytes();
    answer.extend_from_slice(body);
    answer
}

/// A folder with a suite whose baseline is there, and a run that was good.
fn project(baseline: &str) -> tempfile::TempDir {
    let place = folder(&[("first.yaml", &suite("0.9", "")), ("data.jsonl", &rows(30, 0))]);
    check(place.path(), &["run", "first.yaml", "--out", "first"], 0);
    std::fs::write(place.path().join("scoregate.yaml"), suite("0.9", &format!("  baseline: {baseline}\n")))
        .expect("a file");
    place
}

const PUT: [&str; 3] = ["baseline", "update", "first/results.jsonl"];

#[test]
fn a_baseline_is_put_to_an_address_and_compared_with() {
    let files = Files::start();
    let place = project(&format!(
        "{{ from: \"{0}/base?sig=${{SIGNED}}\", put: \"{0}/base?put=${{SIGNED}}\", headers: {{ Authorization: \"Bearer ${{SIGNED}}\" }} }}",
        files.url
    ));
    let run = |arguments: &[&str]| {
        command(place.path(), arguments).env("SIGNED", "a-secret-signature").output().expect("the binary starts")
    };
    let absent = checked(&run(&["run"]), 3);
    assert!(absent.contains(&format!("no baseline: {}/base", files.url)), "{absent}");
    checked_quietly(&run(&PUT));
    let said = checked(&run(&["run"]), 0);
    assert!(
        said.contains(&format!("compared with 1 run of {}/base", files.url)) || said.contains("identical"),
        "{said}"
    );
    assert_eq!(verdict(place.path())["baseline"]["place"], format!("{}/base", files.url));
    checked_quietly(&run(&PUT));
    let heads = files.heads.lock().expect("the heads").join("\n");
    assert!(
        heads.contains("GET /base?sig=a-secret-signature") && heads.contains("PUT /base?put=a-secret-signature"),
        "{heads}"
    );
    assert!(
        heads.to_ascii_lowercase().contains("if-none-match: *")
            && heads.to_ascii_lowercase().contains("if-match: \"v1\""),
        "{heads}"
    );
    assert!(heads.contains("Bearer a-secret-signature"), "{heads}");
    let folder = place.path().join("scoregate-out");
    for entry in std::fs::read_dir(folder).expect("reports").flatten() {
        let text = std::fs::read(entry.path()).unwrap_or_default();
        assert!(!String::from_utf8_lossy(&text).contains("a-secret-signature"), "{:?}", entry.path());
    }
    assert!(!said.contains("a-secret-signature"));
    let shown = checked_quietly(&run(&["baseline", "show", &format!("{}/base", files.url)]));
    assert!(shown.contains("mean 1.000 over 30 cases"), "{shown}");
}

fn checked_quietly(output: &std::process::Output) -> String {
    assert_eq!(code(output), 0, "{}", err(output));
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// cases.yaml `bl-fetch-failed`: 404 is missing, by policy; 403, 503, a web page and another digest are exit code 3 even where a missing
/// baseline is allowed.
#[test]
fn bl_fetch_failed() {
    let answer = |name: &str| {
        let bytes = fixture(&format!("baselines/fetch-{name}.http"));
        // The neutral files have bare line ends.
        let text = String::from_utf8(bytes).expect("text").replace("\r\n", "\n");
        let (head, body) = text.split_once("\n\n").expect("a head");
        format!("{}\r\n\r\n{}", head.replace('\n', "\r\n"), body.trim_end()).into_bytes()
    };
    for (name, missing, expected, words) in [
        ("404", "warn", 0, "NO BASELINE"),
        ("404", "fail", 3, "no baseline"),
        ("403", "warn", 3, "could not be fetched"),
        ("503", "warn", 3, "it answered 503"),
        ("html", "warn", 3, "a web page"),
    ] {
        let bytes = answer(name);
        let server = RawServer::start(move |_| vec![Step::Send(bytes.clone()), Step::Close]);
        let place = project(&format!("{{ from: \"http://{}/base\", missing: {missing} }}", server.address));
        let said = check(place.path(), &["run"], expected);
        assert!(said.contains(words), "{name}: {said}");
        assert!(expected == 0 || !said.contains("NO BASELINE") || name == "404", "{name}: {said}");
    }
    let files = Files::start();
    let place = project(&format!(
        "{{ from: \"{}/base\", missing: warn, digest: 0123456789abcdef0123456789abcdef }}",
        files.url
    ));
    checked_quietly(&scoregate(place.path(), &PUT));
    let said = check(place.path(), &["run"], 3);
    assert!(said.contains("and the suite asks for 0123456789abcdef"), "{said}");
    // Nobody listens there.
    let gone = TcpListener::bind("127.0.0.1:0").expect("a port").local_addr().expect("an address");
    let place = project(&format!("{{ from: \"http://{gone}/base\", missing: warn }}"));
    let said = check(place.path(), &["run"], 3);
    assert!(said.contains("could not be fetched") && !said.contains("NO BASELINE"), "{said}");
}

/// cases.yaml `bl-corrupt`, for what comes over the web; the place keeps it.
#[test]
fn bl_corrupt_at_an_address() {
    let files = Files::start();
    let place = project(&format!("{{ from: \"{}/base\", missing: warn }}", files.url));
    for (name, expected) in
        [("two", 3), ("half", 3), ("empty", 3), ("nul", 3), ("nan", 3), ("range", 3), ("conflict", 3)]
    {
        let bytes = fixture(&format!("baselines/corrupt-{name}.json"));
        files.kept.lock().expect("the files").insert("/base".to_owned(), (1, bytes.clone()));
        let said = check(place.path(), &["run"], expected);
        assert!(said.contains("the baseline cannot be used") && said.contains("/base"), "{name}: {said}");
        assert_eq!(files.kept.lock().expect("the files")["/base"].1, bytes, "{name}");
    }
    files
        .kept
        .lock()
        .expect("the files")
        .insert("/base".to_owned(), (1, b"{\"type\":\"baseline\",\"schema\":99}\n".to_vec()));
    let said = check(place.path(), &["run"], 2);
    assert!(said.contains("newer scoregate"), "{said}");
}

#[test]
fn redirects_and_plain_text_and_metadata_are_not_followed() {
    let server = RawServer::start(|_| {
        vec![Step::Send(
            b"HTTP/1.1 302 Found\r\nLocation: http://169.254.169.254/latest\r\nContent-Length: 0\r\n\r\n".to_vec(),
        )]
    });
    let place = project(&format!("{{ from: \"http://{}/base\", missing: warn }}", server.address));
    let said = check(place.path(), &["run"], 3);
    assert!(said.contains("could not be fetched") && said.contains("redirect"), "{said}");
    for (from, words) in [("http://example.org/base", "use https"), ("https://169.254.169.254/base", "link-local")] {
        let place = project(&format!("{{ from: \"{from}\" }}"));
        let said = check(place.path(), &["run"], 2);
        assert!(said.contains(words) && said.contains("scoregate.yaml:"), "{said}");
    }
}

#[test]
fn a_baseline_on_a_branch_of_its_own_is_accepted_and_compared_with() {
    let place = project("{ from: git, path: rag.jsonl }");
    git(place.path(), &["init", "--quiet", "-b", "main"]);
    git(place.path(), &["add", "--all"]);
    git(place.path(), &["commit", "--quiet", "-m", "begin"]);
    let missing = check(place.path(), &["run"], 3);
    assert!(missing.contains("no baseline: git:scoregate-baselines:rag.jsonl"), "{missing}");
    let output = scoregate(place.path(), &PUT);
    assert_eq!(code(&output), 0, "{}", err(&output));
    assert_eq!(git(place.path(), &["ls-tree", "--name-only", "scoregate-baselines"]), "rag.jsonl");
    check(place.path(), &["run"], 0);
    assert_eq!(verdict(place.path())["baseline"]["place"], "git:scoregate-baselines:rag.jsonl");
    let shown = checked_quietly(&scoregate(place.path(), &["baseline", "show", "git:scoregate-baselines:rag.jsonl"]));
    assert!(shown.contains("over 30 cases"), "{shown}");
}

/// Writers that meet at one address: each is told, and no run is lost.
#[test]
fn writers_who_meet_at_an_address_are_all_in_the_pool() {
    let files = Files::start();
    let place = project("{ from: none }");
    let to = format!("{}/base", files.url);
    checked_quietly(&scoregate(place.path(), &["baseline", "update", "first/results.jsonl", "--to", &to]));
    let base = std::fs::read_to_string(place.path().join("first/results.jsonl")).expect("results");
    let (first, rest) = base.split_once('\n').expect("lines");
    for run in 0..4 {
        let mut header: serde_json::Value = serde_json::from_str(first).expect("JSON");
        header["id"] = format!("run-{run}").into();
        // Another run has other scores.
        let rest = rest.replacen("\"value\":1.0", "\"value\":0.0", run + 1);
        std::fs::write(place.path().join(format!("{run}.jsonl")), format!("{header}\n{rest}")).expect("a file");
    }
    std::thread::scope(|scope| {
        for run in 0..4 {
            let (place, to) = (place.path(), &to);
            scope.spawn(move || {
                let output = scoregate(place, &["baseline", "update", &format!("{run}.jsonl"), "--to", to, "--add"]);
                assert_eq!(code(&output), 0, "{}", err(&output));
            });
        }
    });
    let shown = checked_quietly(&scoregate(place.path(), &["baseline", "show", &to]));
    assert_eq!(shown.lines().filter(|line| line.starts_with("run ")).count(), 5, "{shown}");
}
