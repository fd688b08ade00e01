//! R11: prose is never a score, and what stands around a verdict (thinking, fences, invisible characters, prose) never changes it.

use scoregate::evaluator::{Contract, read};

use super::{seed, sized};

fn words(label: &str, words: &'static [(&'static str, f64)], bare: bool) -> Contract {
    Contract::Words { label: label.to_owned(), words, bare }
}

fn verdict() -> Contract {
    words("VERDICT", &[("PASS", 1.0), ("FAIL", 0.0)], false)
}

fn yes_or_no() -> Contract {
    words("VERDICT", &[("YES", 1.0), ("NO", 0.0)], true)
}

fn letters() -> Contract {
    let letters = &[("A", 1.0), ("B", 0.0), ("C", 0.5)];
    Contract::Letters { label: "VERDICT".to_owned(), letters, bare: true }
}

fn object(pass: bool) -> Contract {
    Contract::Object { pass, lo: 0.0, hi: 1.0 }
}

fn first_line(object: bool) -> Contract {
    Contract::FirstLine { lo: 1.0, hi: 5.0, object }
}

fn tagged() -> Contract {
    Contract::Tagged { tag: "score".to_owned(), lo: 1.0, hi: 5.0 }
}

fn labelled() -> Contract {
    Contract::Labelled { label: "00ff".to_owned(), lo: 1.0, hi: 5.0 }
}

/// Replies that keep each contract, with their scores.
fn good() -> Vec<(Contract, &'static str, f64)> {
    vec![
        (verdict(), "VERDICT: PASS", 1.0),
        (verdict(), "Both hold.\n\n**Verdict: fail**", 0.0),
        (yes_or_no(), "NO", 0.0),
        (yes_or_no(), "Fine.\nYES.", 1.0),
        (yes_or_no(), "{\"verdict\": \"YES\", \"reason\": \"ok\"}", 1.0),
        (letters(), "VERDICT: C", 0.5),
        (object(false), "{\"score\": 0.25, \"reason\": \"a {b}\"}", 0.25),
        (object(true), "{\"pass\": true, \"score\": 0.9}", 0.9),
        (first_line(true), "{\"score\": 4}", 4.0),
        (tagged(), "<score>3.5</score>", 3.5),
        (labelled(), "00ff: 2", 2.0),
        (first_line(false), "4.5\nGood.", 4.5),
    ]
}

/// Words that say much and are no verdict where they stand.
const PROSE: [&str; 24] = [
    "the",
    "answer",
    "yes,",
    "no,",
    "pass",
    "fail",
    "4",
    "5/5",
    "score",
    "verdict",
    "supports",
    "it",
    "is",
    "0.9",
    "source",
    "therefore",
    "right",
    "<b>",
    "(",
    "—",
    "检索",
    "\u{200b}",
    "80%",
    "wrong",
];

fn prose(random: &mut fastrand::Rng) -> String {
    let mut text = String::from("so");
    for _ in 0..random.usize(1..24) {
        text.push_str(if random.u8(..6) == 0 { ". \nwell, " } else { " " });
        text.push_str(PROSE[random.usize(..PROSE.len())]);
    }
    text.push_str(" then");
    text
}

#[test]
fn prose_without_a_verdict_never_scores() {
    let texts = sized(50_000, 1_000_000);
    let mut random = fastrand::Rng::with_seed(seed("prose"));
    let contracts: Vec<Contract> = good().into_iter().map(|(contract, ..)| contract).collect();
    for _ in 0..texts {
        let text = prose(&mut random);
        let contract = &contracts[random.usize(..contracts.len())];
        assert!(read(contract, &text).is_err(), "{contract:?} read {text:?}");
    }
    println!("R11: {texts} texts of prose, 0 scores");
}

#[test]
fn thinking_fences_invisible_characters_and_prose_before_change_no_score() {
    let texts = sized(5_000, 1_000_000);
    let mut random = fastrand::Rng::with_seed(seed("replies"));
    let good = good();
    for _ in 0..texts {
        let (contract, reply, score) = &good[random.usize(..good.len())];
        let mut text = (*reply).to_owned();
        if random.bool() {
            text = format!("```json\n{text}\n```");
        }
        // A first line is first: before it, only what is no text.
        if random.bool() && !matches!(contract, Contract::FirstLine { object: false, .. }) {
            text = format!("{}\n{text}", prose(&mut random));
        }
        if random.bool() {
            let (_, decoy, _) = &good[random.usize(..good.len())];
            text = format!("<think>\n{} {decoy}\nVERDICT: PASS\nNO\n</think>\n{text}", prose(&mut random));
        }
        for _ in 0..random.usize(..4) {
            let places: Vec<usize> = text.char_indices().map(|(place, _)| place).collect();
            let invisible = ['\u{200b}', '\u{feff}', '\u{2060}', '\u{200e}'][random.usize(..4)];
            text.insert(places[random.usize(..places.len())], invisible);
        }
        let read = read(contract, &text).map(|reading| reading.value);
        assert_eq!(read.as_ref().ok(), Some(score), "{contract:?} {text:?}: {read:?}");
    }
    println!("R11: {texts} replies with something around their verdict, each with its own score");
}
