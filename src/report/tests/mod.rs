//! Every renderer with the same samples; hostile texts in every sink; the cases of `fixtures/cases` that concern reports.

mod cases;
mod hosts;
mod junit;
mod markdown;
mod properties;
mod readable;

use super::samples::Sample;
use super::{ReportSettings, Screen, screen};

/// What was written, for whoever holds another one of it.
#[derive(Clone, Default)]
pub(super) struct Page(pub(super) std::sync::Arc<std::sync::Mutex<Vec<u8>>>);

impl std::io::Write for Page {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

fn plain(width: usize) -> Screen {
    Screen { width, styled: false }
}

fn console(sample: &Sample, width: usize) -> String {
    screen(&sample.view(), plain(width))
}

fn file(sample: &Sample, name: &str) -> String {
    file_with(sample, name, &ReportSettings::default())
}

fn file_with(sample: &Sample, name: &str, settings: &ReportSettings) -> String {
    let kind = super::KINDS.iter().find(|kind| kind.file == name).unwrap();
    let mut bytes = Vec::new();
    (kind.render)(&sample.view(), settings, &mut bytes).unwrap();
    String::from_utf8(bytes).unwrap()
}

/// The lines of a fixture of texts, one by one and together.
fn texts(file: &str) -> Vec<String> {
    let bytes = std::fs::read(format!("fixtures/cases/{file}")).unwrap();
    let text = String::from_utf8_lossy(&bytes).into_owned();
    let mut texts: Vec<String> = text.lines().map(str::to_owned).filter(|line| !line.is_empty()).collect();
    texts.push(text);
    texts
}
