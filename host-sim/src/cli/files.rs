//! The files that a run can be written to: its trace, and its capture.

use crate::pcap::{LinkType, Recorder};
use crate::trace::Observer;
use crate::{Scenario, TraceEvent};
use clap::Args;
use std::fs::File;
use std::io::{self, BufWriter, Write as _};
use std::path::{Path, PathBuf};

#[derive(Args)]
pub(super) struct FileArgs {
    /// Write the trace to a file, one JSON object per line (one seed only).
    #[arg(long, value_name = "FILE")]
    trace: Option<PathBuf>,
    /// Write the frames to a file that Wireshark opens (one seed only); see `conclave dissector`.
    #[arg(long, value_name = "FILE")]
    pcap: Option<PathBuf>,
}

impl FileArgs {
    /// Returns what the first of the files is called, if there is one.
    pub(super) fn noun(&self) -> Option<&'static str> {
        self.trace.as_ref().map(|_| "trace").or(self.pcap.as_ref().map(|_| "capture"))
    }

    /// Creates the files for a run.
    pub(super) fn create(&self, scenario: &Scenario) -> Result<Files<'_>, String> {
        let capture = |path: &Path| {
            let file = BufWriter::new(File::create(path)?);
            Recorder::new(file, LinkType::of(&scenario.world.medium))
        };
        Ok(Files {
            trace: self.trace.as_deref().map(TraceFile::create).transpose().map_err(self.failed("trace"))?,
            capture: self.pcap.as_deref().map(capture).transpose().map_err(self.failed("capture"))?,
            args: self,
        })
    }

    fn failed(&self, noun: &'static str) -> impl Fn(io::Error) -> String {
        let path = if noun == "trace" { &self.trace } else { &self.pcap };
        move |error| {
            format!("{}: the {noun} cannot be written: {error}", path.as_deref().unwrap_or(Path::new("")).display())
        }
    }
}

/// The files of a run in progress.
pub(super) struct Files<'a> {
    trace: Option<TraceFile>,
    capture: Option<Recorder<BufWriter<File>>>,
    args: &'a FileArgs,
}

impl Files<'_> {
    /// Ends the files; a sentence where one of them could not be written.
    pub(super) fn finish(self) -> Result<(), String> {
        self.trace.map_or(Ok(()), TraceFile::finish).map_err(self.args.failed("trace"))?;
        self.capture.map_or(Ok(()), Recorder::finish).map_err(self.args.failed("capture"))
    }
}

impl Observer for Files<'_> {
    fn observe(&mut self, event: &TraceEvent) {
        self.trace.iter_mut().for_each(|trace| trace.observe(event));
        self.capture.iter_mut().for_each(|capture| capture.observe(event));
    }

    fn on_frame(&mut self, frame: &[u8]) {
        self.capture.iter_mut().for_each(|capture| capture.on_frame(frame));
    }
}

/// A trace: one JSON object per line.
struct TraceFile {
    file: BufWriter<File>,
    result: io::Result<()>,
}

impl TraceFile {
    fn create(path: &Path) -> io::Result<Self> {
        Ok(Self { file: BufWriter::new(File::create(path)?), result: Ok(()) })
    }

    fn observe(&mut self, event: &TraceEvent) {
        if self.result.is_ok() {
            let line = serde_json::to_writer(&mut self.file, event).map_err(io::Error::from);
            self.result = line.and_then(|()| self.file.write_all(b"\n"));
        }
    }

    fn finish(mut self) -> io::Result<()> {
        self.result.and_then(|()| self.file.flush())
    }
}
