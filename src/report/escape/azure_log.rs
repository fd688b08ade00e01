//! What the Azure Pipelines agent takes for a command in a log.
//!
//! Rule: microsoft/azure-pipelines-agent, `src/Agent.Sdk/Util/CommandStringConvertor.cs` and `Command.TryParse`: `##vso[` anywhere in a
//! line, in any letter case, on both streams; `##[section]` and its like format the log.

use std::borrow::Cow;

/// Both forms broken wherever they stand: `##vso[` → `##_vso[`, `##[` → `##_[`.
pub(crate) fn break_commands(text: &str) -> Cow<'_, str> {
    if !text.contains("##") {
        return Cow::Borrowed(text);
    }
    let mut broken = String::with_capacity(text.len() + 4);
    for (at, character) in text.char_indices() {
        let rest = text.get(at..).unwrap_or_default();
        if broken.ends_with("##") && (rest.starts_with('[') || is_vso(rest)) {
            broken.push('_');
        }
        broken.push(character);
    }
    Cow::Owned(broken)
}

/// `vso[` in any letter case, also by letters that only become these in capitals.
fn is_vso(text: &str) -> bool {
    let mut letters = text.chars();
    let same = "VSO".chars().all(|wanted| letters.next().is_some_and(|letter| letter.to_uppercase().eq([wanted])));
    same && letters.next() == Some('[')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_are_broken_in_any_case_and_place() {
        assert_eq!(break_commands("x ##vso[a]##VsO[b]"), "x ##_vso[a]##_VsO[b]");
        assert_eq!(break_commands("###[x] ##vſo[y] ##vs [z]"), "###_[x] ##_vſo[y] ##vs [z]");
        assert_eq!(break_commands("## [title] #1"), "## [title] #1");
    }
}
