//! Is the answer well-formed XML?

use schemars::JsonSchema;
use serde::Deserialize;

use super::super::pure::{Found, Measure, ready};
use super::super::{BuildContext, Info, Kind, Needs, Ready, Subject, schema};
use crate::diagnostic::Diagnostics;
use crate::domain::{Direction, Failure, ScoreKind};
use crate::suite::{Block, Draft};
use crate::text::suggest::list;
use crate::text::xml::lacks;

pub const INFO: Info = Info {
    name: "is_xml",
    summary: "1 if the answer is well-formed XML (with all of `elements`), else 0",
    score: ScoreKind::Binary,
    direction: Direction::Higher,
    pass_mark: Some(1.0),
    needs: &[Needs::Answer],
    version: 1,
    source: "XML 1.0, fifth edition, well-formedness; white space around it does not count, document type declarations are refused",
};

pub(super) const KIND: Kind = Kind { info: &INFO, schema: schema::<Settings>, build };

/// Is the answer well-formed XML?
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Settings {
    /// Elements that must be there, each as the names from the root on: `answer.source`. Default: none.
    #[serde(default)]
    elements: Vec<String>,
    /// Look at what stands from the first `<` to the last `>` of the answer. Default: false.
    #[serde(default)]
    embedded: bool,
}

fn build(block: &Block, _context: &BuildContext<'_>, diagnostics: &mut Diagnostics) -> Option<Ready> {
    let Draft { settings, sound } = block.draft::<Settings>(diagnostics)?;
    let empty = |path: &String| path.split('.').any(str::is_empty);
    if let Some(at) = settings.elements.iter().position(empty) {
        let problem = block.problem(&format!("/elements/{at}"), "empty-text", "a name in the element's path is empty");
        diagnostics.push(problem.help("write the names from the root on, with dots between: `answer.source`"));
        return None;
    }
    sound.then(|| ready(block, &INFO, None, settings))
}

impl Measure for Settings {
    fn measure(&self, subject: Subject<'_>) -> Result<Found, Failure> {
        let text = subject.answer.text.as_str();
        let text = if self.embedded { within(text) } else { text };
        Ok(match lacks(text, &self.elements) {
            Ok(lacking) if lacking.is_empty() => Found::check(true, "the answer is well-formed XML"),
            Ok(lacking) => Found::check(false, format!("there is no element {}", list(lacking, "and no"))),
            Err(why) => Found::check(false, format!("the answer is no well-formed XML: {why}")),
        })
    }
}

/// From the first `<` to the last `>`.
fn within(text: &str) -> &str {
    match (text.find('<'), text.rfind('>')) {
        (Some(from), Some(to)) => text.get(from..=to).unwrap_or_default(),
        _ => "",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_code_block_holds_xml() {
        assert_eq!(within("Here:\n```xml\n<a>1</a>\n```"), "<a>1</a>");
        assert_eq!(within("1 > 0 < 2"), "");
    }
}
