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
const SOURCES: [(&str, &str); 6] = [
    ("index.html", "text/html; charset=utf-8"),
    ("page.js", "text/javascript; charset=utf-8"),
    ("lessons.js", "text/javascript; charset=utf-8"),
    ("live.js", "text/javascript; charset=utf-8"),
    ("recording.js", "text/javascript; charset=utf-8"),
    ("page.css", "text/css; charset=utf-8"),
];

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
        let source = |&(name, kind)| Ok(File { name, kind, bytes: read(&folder.join(name))? });
        let mut files = SOURCES.iter().map(source).collect::<Result<Vec<_>, String>>()?;
        files.push(File { name: MODULE, kind: "application/wasm", bytes: read(&module)? });
        Ok(Self(files))
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
