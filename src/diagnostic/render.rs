//! Diagnostics as text: message, `file:line:column`, the line, a caret, help.

use annotate_snippets::renderer::DecorStyle;
use annotate_snippets::{Annotation, AnnotationKind, Group, Level as Tone, Origin, Padding, Renderer, Snippet};

use super::excerpt::{Excerpt, excerpt};
use super::{Diagnostic, Diagnostics, Level, Span, clean};

/// Whether the text may hold colours.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Colours {
    /// For files, pipes and logs.
    #[default]
    Plain,
    /// ANSI colours, for a terminal that shows them.
    Ansi,
}

/// Plain text, one block a diagnostic, a blank line between. Control characters are shown as escapes; the caller redacts.
pub fn render(diagnostics: &Diagnostics) -> String {
    render_with(diagnostics, Colours::Plain)
}

/// Like [`render`], with colours if asked for.
pub fn render_with(diagnostics: &Diagnostics, colours: Colours) -> String {
    let renderer = match colours {
        Colours::Plain => Renderer::plain(),
        Colours::Ansi => Renderer::styled(),
    }
    .decor_style(DecorStyle::Ascii)
    .term_width(200);
    let blocks: Vec<String> = diagnostics.iter().map(|diagnostic| one(diagnostic, &renderer)).collect();
    let mut text = blocks.join("\n\n");
    if !text.is_empty() {
        text.push('\n');
    }
    text
}

fn one(diagnostic: &Diagnostic, renderer: &Renderer) -> String {
    let tone = match diagnostic.level {
        Level::Error => Tone::ERROR,
        Level::Warning => Tone::WARNING,
    };
    let mut group = Group::with_title(tone.primary_title(clean::message(&diagnostic.message)).id(diagnostic.code));
    let mut moved = None;
    if let (Some(source), Some(span)) = (&diagnostic.source, diagnostic.span) {
        let path = clean::message(&source.path);
        let spans: Vec<Span> = std::iter::once(span).chain(diagnostic.related.iter().map(|(span, _)| *span)).collect();
        group = match excerpt(source, &spans) {
            Some(excerpt) => {
                moved = excerpt.shown_column().map(|shown| {
                    (format!("{path}:{}:{shown}", span.line), format!("{path}:{}:{}", span.line, span.column))
                });
                group.element(snippet(excerpt, diagnostic).path(path))
            }
            None => group.element(Origin::path(path).line(number(span.line)).char_column(number(span.column))),
        };
    }
    if let Some(help) = &diagnostic.help {
        if diagnostic.span.is_some() {
            group = group.element(Padding);
        }
        group = group.element(Tone::HELP.message(clean::message(help)));
    }
    let text = renderer.render(&[group]);
    match moved {
        // The renderer counts columns in what it shows.
        Some((shown, true_place)) if shown != true_place => text.replacen(&shown, &true_place, 1),
        Some(_) | None => text,
    }
}

fn snippet(excerpt: Excerpt, diagnostic: &Diagnostic) -> Snippet<'static, Annotation<'static>> {
    let mut snippet = Snippet::source(excerpt.text).line_start(excerpt.first_line).fold(true);
    for (index, range) in excerpt.ranges.into_iter().enumerate() {
        let Some(range) = range else { continue };
        snippet = snippet.annotation(match index.checked_sub(1).and_then(|index| diagnostic.related.get(index)) {
            Some((_, what)) => AnnotationKind::Context.span(range).label(clean::message(what)),
            None => AnnotationKind::Primary.span(range),
        });
    }
    snippet
}

fn number(number: u32) -> usize {
    usize::try_from(number).unwrap_or(usize::MAX)
}

#[cfg(test)]
mod tests;
