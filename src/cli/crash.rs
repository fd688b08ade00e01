//! What a panic says: where it happened and our own words, never a text that was being worked on (it may hold a secret).

use std::panic::PanicHookInfo;

use super::screen;

/// From now on panics are told in one line.
pub(super) fn listen() {
    std::panic::set_hook(Box::new(|panic| screen::err(&told(panic))));
}

/// What `work` returns; `None` after a panic, which is told.
pub(super) fn caught<T>(work: impl FnOnce() -> T) -> Option<T> {
    std::panic::catch_unwind(std::panic::AssertUnwindSafe(work)).ok()
}

fn told(panic: &PanicHookInfo<'_>) -> String {
    let place = panic.location().map_or_else(|| "an unknown place".to_owned(), ToString::to_string);
    // A formatted message may hold anything; a literal one is ours.
    let words = panic.payload().downcast_ref::<&'static str>().map_or_else(String::new, |words| format!(": {words}"));
    format!("internal error at {place}{words}; please report it")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_is_caught_and_the_rest_goes_on() {
        assert_eq!(caught(|| 1), Some(1));
        let nothing: Vec<u8> = Vec::new();
        assert_eq!(caught(|| nothing.first().copied().unwrap()), None);
    }
}
