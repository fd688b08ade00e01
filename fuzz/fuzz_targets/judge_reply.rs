#![no_main]

#[path = "../readers.rs"]
#[allow(dead_code, reason = "each target feeds one reader")]
mod readers;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| readers::judge_reply(bytes));
