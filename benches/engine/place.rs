//! A folder with a suite and its data, and the processes that are started for one measurement.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use crate::measured::Measured;
use crate::provider::{self, Settings, Stats};
use crate::{Error, floor, probe};

/// What stands in the suite beside the two judges.
#[derive(Clone, Copy, Debug)]
pub struct Suite<'a> {
    pub url: &'a str,
    pub workers: usize,
    /// Lines under `gate:`.
    pub gate: &'a str,
}

impl Suite<'_> {
    pub fn text(&self) -> String {
        let Self { url, workers, gate } = self;
        format!(
            "version: 1\nname: engine\ndataset: {{ path: cases.jsonl }}\nmodels:\n  judge: {{ provider: openai, model: fake, \
             temperature: 0, base_url: \"{url}/v1\", api_key: none-needed }}\nevaluators:\n  faithfulness: {{ model: judge \
             }}\n  relevancy: {{ model: judge }}\ngate:\n{gate}\nrun: {{ workers: {workers} }}\n"
        )
    }
}

/// The thresholds of every suite here that is meant to pass.
pub const GATE: &str = "  metrics:\n    faithfulness: { min: 0.5 }\n    relevancy: { min: 0.5 }";

/// A fake provider, ended with the value.
pub struct Provider {
    child: Child,
    pub url: String,
    address: String,
}

impl Provider {
    /// # Errors
    /// Where it does not start.
    pub fn start(me: &Path, settings: &Settings) -> Result<Self, Error> {
        let mut child = Command::new(me)
            .args([provider::ROLE, &serde_json::to_string(settings)?])
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .spawn()?;
        let mut line = String::new();
        let stdout = child.stdout.take().ok_or("the provider has no output")?;
        BufReader::new(stdout).read_line(&mut line)?;
        let address = line.trim().to_owned();
        if address.is_empty() {
            return Err("the fake provider did not start".into());
        }
        Ok(Self { child, url: format!("http://{address}"), address })
    }

    /// # Errors
    /// Where it does not answer.
    pub fn stats(&self) -> Result<Stats, Error> {
        let mut stream = TcpStream::connect(&self.address)?;
        stream.write_all(b"GET /stats HTTP/1.1\r\nhost: provider\r\nconnection: close\r\n\r\n")?;
        let mut answer = String::new();
        stream.read_to_string(&mut answer)?;
        let (_, body) = answer.split_once("\r\n\r\n").ok_or("no answer from the fake provider")?;
        Ok(serde_json::from_str(body)?)
    }
}

impl Drop for Provider {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A folder in which scoregate runs.
pub struct Place {
    pub folder: PathBuf,
}

impl Place {
    /// # Errors
    /// Where the files cannot be written.
    pub fn new(folder: PathBuf, suite: Suite<'_>, data: &Path) -> Result<Self, Error> {
        std::fs::create_dir_all(&folder)?;
        std::fs::write(folder.join("scoregate.yaml"), suite.text())?;
        std::fs::copy(data, folder.join("cases.jsonl"))?;
        Ok(Self { folder })
    }

    /// A file of the reports.
    ///
    /// # Errors
    /// Where it is not there.
    pub fn report(&self, name: &str) -> Result<String, Error> {
        let path = self.folder.join("scoregate-out").join(name);
        Ok(std::fs::read_to_string(&path).map_err(|error| format!("{}: {error}", path.display()))?)
    }

    /// Runs a program here; `limit`: killed after so many milliseconds, 0 for never.
    ///
    /// # Errors
    /// Where it does not start.
    pub fn run(&self, me: &Path, limit: u64, program: &Path, arguments: &[&str]) -> Result<Measured, Error> {
        let output = Command::new(me)
            .arg(probe::ROLE)
            .arg(limit.to_string())
            .args([self.folder.as_os_str(), program.as_os_str()])
            .args(arguments)
            .stderr(Stdio::inherit())
            .output()?;
        if !output.status.success() {
            return Err(format!("{} could not be measured", program.display()).into());
        }
        Ok(serde_json::from_slice(&output.stdout)?)
    }

    /// Fires the same calls and nothing else.
    ///
    /// # Errors
    /// Where it does not start, or not every call was answered.
    pub fn floor(&self, me: &Path, url: &str, workers: usize, paced: bool) -> Result<Measured, Error> {
        let how = if paced { "paced" } else { "plain" };
        let measured = self.run(me, 0, me, &[floor::ROLE, how, url, "cases.jsonl", &workers.to_string()])?;
        self.expect(&measured, &[0]).map(|()| measured)
    }

    /// # Errors
    /// Where the program ended otherwise than with one of `codes`; with its last words.
    pub fn expect(&self, measured: &Measured, codes: &[i32]) -> Result<(), Error> {
        if measured.code.is_some_and(|code| codes.contains(&code)) {
            return Ok(());
        }
        let said = std::fs::read_to_string(self.folder.join(probe::ERRORS)).unwrap_or_default();
        let last: Vec<&str> = said.lines().rev().take(3).collect();
        Err(format!("exit {:?} instead of {codes:?}: {}", measured.code, last.join(" / ")).into())
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}
