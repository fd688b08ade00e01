//! The command parsers of the build hosts, from their rules, and what they find in our output.

use super::*;
use crate::report::samples::{all, hostile_with};

/// actions/runner `ActionCommand.TryParseV2` and `TryParse`: whether a line is a command.
pub(super) fn github_command(line: &str) -> bool {
    let trimmed = line.trim_start();
    let new = trimmed.strip_prefix("::").is_some_and(|rest| rest.contains("::"));
    let old = line.find("##[").is_some_and(|at| line[at..].contains(']'));
    new || old
}

/// azure-pipelines-agent `Command.TryParse`, and the log's own formats.
pub(super) fn azure_command(line: &str) -> bool {
    let line = line.to_uppercase();
    ["##VSO[", "##["].iter().any(|start| line.find(start).is_some_and(|at| line[at..].contains(']')))
}

/// What a terminal would act on.
pub(super) fn steers(text: &str) -> bool {
    text.chars().any(|c| (c.is_control() && c != '\n') || crate::report::clean::hidden(c))
}

pub(super) fn check_screen(sample: &Sample) {
    for width in [40, 80, 200] {
        let text = console(sample, width);
        assert!(!steers(&text), "{text:?}");
        for line in text.lines() {
            assert!(!line.trim_start().starts_with("::"), "{line}");
            assert!(!github_command(line), "{line}");
            assert!(!azure_command(line), "{line}");
            assert!(!line.contains("##["), "{line}");
        }
    }
}

#[test]
fn no_sample_commands_a_host_or_steers_a_terminal() {
    for (_, sample) in all() {
        check_screen(&sample);
    }
}

#[test]
fn lg_workflow_commands() {
    check_screen(&hostile_with(&texts("logs/workflow-commands.txt")));
}

#[test]
fn lg_azure_commands() {
    check_screen(&hostile_with(&texts("logs/azure-commands.txt")));
}

#[test]
fn lg_terminal_in_every_place() {
    check_screen(&hostile_with(&texts("logs/terminal.bin")));
}

#[test]
fn lg_console_names_fit_the_screen() {
    use unicode_width::UnicodeWidthStr as _;
    let sample = hostile_with(&texts("logs/console-names.txt"));
    for width in [80, 120] {
        let text = console(&sample, width);
        let wide: Vec<&str> = text.lines().filter(|line| line.width() > width + 2).collect();
        assert!(wide.is_empty(), "{wide:?}");
    }
}

#[test]
fn styles_are_ours_alone() {
    let sample = crate::report::samples::hostile();
    let styled = screen(&sample.view(), Screen { width: 100, styled: true });
    assert_eq!(anstream::adapter::strip_str(&styled).to_string(), console(&sample, 100));
}
