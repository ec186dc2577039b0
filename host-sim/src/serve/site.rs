//! The files of the page, with the simulator compiled for the browser.

use crate::boards::toolchain::prepare_library;
use crate::boards::{target_folder, workspace};
use std::io::IsTerminal as _;
use std::path::Path;
use std::process::{Command, Stdio};
use std::{fs, io};

const TARGET: &str = "wasm32-unknown-unknown";
const MODULE: &str = "conclave.wasm";
/// The files as they stand in `web/site`.
const SOURCES: [&str; 26] = [
    "index.html",
    "page.css",
    "page.js",
    "address.js",
    "charts.js",
    "clusters.js",
    "dom.js",
    "events.js",
    "faults.js",
    "keys.js",
    "kinds.js",
    "lesson.js",
    "lessons.js",
    "live.js",
    "network.js",
    "nodes.js",
    "panels.js",
    "playback.js",
    "pointer.js",
    "recording.js",
    "run.js",
    "selection.js",
    "simulator.js",
    "spacetime.js",
    "summary.js",
    "view.js",
];

/// Returns the type of a file by the end of its name.
fn kind_of(name: &str) -> &'static str {
    match name.rsplit_once('.') {
        Some((_, "html")) => "text/html; charset=utf-8",
        Some((_, "css")) => "text/css; charset=utf-8",
        Some((_, "js")) => "text/javascript; charset=utf-8",
        Some((_, "wasm")) => "application/wasm",
        _ => "application/octet-stream",
    }
}

pub(crate) struct File {
    pub(super) name: &'static str,
    pub(super) kind: &'static str,
    pub(super) bytes: Vec<u8>,
}

/// All files of the page.
pub(crate) struct Site(Vec<File>);

impl Site {
    /// Compiles the simulator, where that was not done, and reads the files.
    ///
    /// # Errors
    /// A sentence where there is no checkout or no compiler for the browser, or where a file is missing.
    pub(crate) fn build() -> Result<Self, String> {
        let checkout = workspace()?;
        prepare_library(TARGET)?;
        let target = target_folder(&checkout);
        let mut cargo = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
        cargo
            .current_dir(&checkout)
            .args(["build", "--profile", "web", "--package", "conclave-web", "--target", TARGET, "--target-dir"])
            .arg(&target)
            .stdin(Stdio::null())
            .stdout(Stdio::null());
        if !io::stderr().is_terminal() {
            cargo.arg("--quiet");
        }
        let module = target.join(TARGET).join("web/conclave_web.wasm");
        if !module.is_file() {
            eprintln!("compiling the simulator for the browser");
        }
        let status = cargo.status().map_err(|error| format!("cargo cannot be started: {error}"))?;
        if !status.success() {
            return Err(format!("the page does not build: cargo ended with {status}"));
        }
        let read = |path: &Path| fs::read(path).map_err(|error| format!("{}: {error}", path.display()));
        let folder = checkout.join("web/site");
        let file = |name, path: &Path| Ok(File { name, kind: kind_of(name), bytes: read(path)? });
        let sources = SOURCES.iter().map(|&name| file(name, &folder.join(name)));
        sources.chain([file(MODULE, &module)]).collect::<Result<_, String>>().map(Self)
    }

    #[cfg(test)]
    pub(super) fn of(files: Vec<File>) -> Self {
        Self(files)
    }

    /// Writes all files to a folder.
    pub(crate) fn export(&self, folder: &Path) -> io::Result<()> {
        fs::create_dir_all(folder)?;
        self.0.iter().try_for_each(|file| fs::write(folder.join(file.name), &file.bytes))
    }

    /// Returns the file at a path of the server.
    pub(super) fn file(&self, path: &str) -> Option<&File> {
        let name = if path == "/" { "index.html" } else { path.strip_prefix('/')? };
        self.0.iter().find(|file| file.name == name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn every_file_of_the_page_is_served_and_every_module_is_preloaded_with_it() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../web/site");
        let files = fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
        let files: BTreeSet<String> = files.collect();
        assert_eq!(files, SOURCES.iter().map(|&name| name.to_owned()).collect());
        let index = fs::read_to_string(folder.join("index.html")).unwrap();
        for name in files.iter().filter(|name| Path::new(name).extension().is_some_and(|of| of == "js")) {
            let tag = format!("href=\"{name}\"");
            assert!(name == "page.js" || index.contains(&tag), "{name} is loaded late: {tag} is missing");
        }
        let kinds =
            ["a.html", "a.css", "a.js", "a.wasm", "a"].map(|name| kind_of(name).split(['/', ';']).nth(1).unwrap());
        assert_eq!(kinds, ["html", "css", "javascript", "wasm", "octet-stream"]);
    }
}
