//! The board's image: built from the sources beside this program, and read for the strings of its log.

use super::setup::{TARGET, Toolchain};
use defmt_decoder::Table;
use std::io::IsTerminal as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::{env, fs};

const PACKAGE: &str = "firmware-qemu";
const BINARY: &str = "mps2-an385";
const PROFILE: &str = "firmware";

/// An image and the strings of its log.
#[derive(Clone)]
pub struct Image {
    path: PathBuf,
    table: Arc<Table>,
}

impl Image {
    /// Builds the image; cargo tells its progress on standard error.
    ///
    /// # Errors
    /// One sentence that says why there is none.
    pub fn build(toolchain: Toolchain) -> Result<Self, String> {
        let workspace = workspace()?;
        let target = target_folder(&workspace).join("swarm");
        let mut command = cargo(toolchain);
        command
            .current_dir(&workspace)
            .args(["build", "--profile", PROFILE, "--package", PACKAGE, "--target", TARGET])
            .arg("--target-dir")
            .arg(&target)
            .stdin(Stdio::null())
            .stdout(Stdio::null());
        if !std::io::stderr().is_terminal() {
            command.arg("--quiet");
        }
        let status = command.status().map_err(|error| format!("cargo cannot be started: {error}"))?;
        if !status.success() {
            return Err(format!("the firmware does not build: cargo ended with {status}"));
        }
        Self::read(&target.join(TARGET).join(PROFILE).join(BINARY))
    }

    /// Reads an image that was built before.
    ///
    /// # Errors
    /// One sentence that says what is wrong with it.
    pub fn read(path: &Path) -> Result<Self, String> {
        let complain = |text: &dyn std::fmt::Display| format!("{}: {text}", path.display());
        let elf = fs::read(path).map_err(|error| complain(&error))?;
        let table = Table::parse(&elf).map_err(|error| complain(&error))?;
        let table = table.ok_or_else(|| complain(&"the image has no log"))?;
        Ok(Self { path: path.to_owned(), table: Arc::new(table) })
    }

    /// Where it is.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    pub(super) fn table(&self) -> Arc<Table> {
        self.table.clone()
    }
}

/// Where the sources are: this program was built from the same tree.
fn workspace() -> Result<PathBuf, String> {
    let workspace = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let found = workspace.canonicalize().ok().filter(|folder| folder.join("firmware/qemu/Cargo.toml").is_file());
    found.ok_or_else(|| format!("the sources of the firmware are not at {} any more", workspace.display()))
}

fn target_folder(workspace: &Path) -> PathBuf {
    env::var_os("CARGO_TARGET_DIR").map_or_else(|| workspace.join("target"), |folder| workspace.join(folder))
}

/// Cargo, set up for the way chosen.
fn cargo(toolchain: Toolchain) -> Command {
    let mut command = Command::new(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    // Whoever runs this under cargo has its own settings for the desktop in the environment.
    for setting in ["RUSTFLAGS", "CARGO_ENCODED_RUSTFLAGS", "CARGO_BUILD_TARGET", "RUSTC_WRAPPER"] {
        command.env_remove(setting);
    }
    match toolchain {
        Toolchain::Installed => {}
        Toolchain::Debian => {
            command
                .env("RUSTC", "/usr/bin/rustc")
                .env("RUSTC_BOOTSTRAP", "1")
                .env("CARGO_TARGET_THUMBV7M_NONE_EABI_LINKER", "ld.lld")
                .env_remove("RUSTUP_TOOLCHAIN")
                .arg("-Zbuild-std=core,alloc");
        }
    }
    command
}
