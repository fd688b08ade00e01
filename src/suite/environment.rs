//! The variables that a suite gives to a program.

use std::collections::BTreeMap;

use super::Block;
use crate::diagnostic::Diagnostics;
use crate::domain::Secret;
use crate::text::pointer::escape;

/// What a program is given beside the allow-list: plain variables, and credentials.
pub type Environment = (Vec<(String, String)>, Vec<(String, Secret)>);

impl Block {
    /// The variables of the block's `env`: those that came from our own environment are credentials, the others part of what is asked.
    /// `None` after pushing every problem.
    pub fn environment(&self, env: BTreeMap<String, String>, diagnostics: &mut Diagnostics) -> Option<Environment> {
        let (mut plain, mut credentials) = (Vec::new(), Vec::new());
        let mut sound = true;
        for (name, value) in env {
            let place = format!("/env/{}", escape(&name));
            if name.is_empty() || name.contains(['=', '\0']) || value.contains('\0') {
                diagnostics.push(self.problem(
                    &place,
                    "variable",
                    format!("`{name}` cannot be a variable of a program"),
                ));
                sound = false;
            } else if self.written.from_environment.contains(&place) {
                // Too short to be masked and no credential by its name, or it would have been refused before: an ordinary setting.
                match Secret::new(name.as_str(), value.as_str()) {
                    Ok(secret) => credentials.push((name, secret)),
                    Err(_) => plain.push((name, value)),
                }
            } else {
                plain.push((name, value));
            }
        }
        sound.then_some((plain, credentials))
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use serde_json::json;

    use super::*;

    #[test]
    fn what_came_from_the_environment_is_a_credential_and_what_cannot_be_a_variable_is_refused() {
        let mut block = Block::from_value("app", "command", json!({}));
        let mut written = (*block.written).clone();
        written.from_environment.extend(["/env/A~1KEY".to_owned(), "/env/SHORT".to_owned()]);
        block.written = Arc::new(written);
        let env = |pairs: &[(&str, &str)]| pairs.iter().map(|(a, b)| ((*a).to_owned(), (*b).to_owned())).collect();
        let mut diagnostics = Diagnostics::default();
        let given = env(&[("A/KEY", "sk-0123456789abcdef"), ("SHORT", "1"), ("MODE", "sk-0123456789abcdef")]);
        let (plain, credentials) = block.environment(given, &mut diagnostics).unwrap();
        let plain: Vec<&str> = plain.iter().map(|(name, _)| name.as_str()).collect();
        let secret: Vec<&str> = credentials.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!((plain, secret), (vec!["MODE", "SHORT"], vec!["A/KEY"]));
        let wrong: BTreeMap<String, String> = env(&[("", "x"), ("A=B", "x"), ("C", "x\0"), ("D", "x")]);
        assert!(block.environment(wrong, &mut diagnostics).is_none());
        assert_eq!(diagnostics.iter().filter(|problem| problem.code == "variable").count(), 3);
    }
}
