//! Building a board's image from the sources beside this program.

use super::{Board, Parts};
use crate::swarm::setup::Toolchain;
use std::ffi::OsString;
use std::io::IsTerminal as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::{env, fs};

const PROFILE: &str = "firmware";

/// Builds the image of a board with these parts and says where it is; cargo tells its progress on standard error.
///
/// # Errors
/// One sentence that says why there is none.
pub fn build(board: &Board, parts: &Parts, toolchain: Toolchain) -> Result<PathBuf, String> {
    let mut command = cargo(board, toolchain);
    command.envs(parts.environment());
    let built = build_with(board, command)?;
    // The next parts are built to the same place.
    let kept = built.with_file_name(parts.file_name(board));
    fs::copy(&built, &kept).map_err(|error| format!("{}: {error}", kept.display()))?;
    Ok(kept)
}

fn build_with(board: &Board, mut command: Command) -> Result<PathBuf, String> {
    let workspace = workspace()?;
    let target = target_folder(&workspace).join("swarm");
    command
        .current_dir(&workspace)
        .args(["build", "--profile", PROFILE, "--package", board.package, "--target", board.target])
        .arg("--target-dir")
        .arg(&target)
        .env(format!("CARGO_TARGET_{}_RUSTFLAGS", shouted(board.target)), short_paths(&workspace))
        .stdin(Stdio::null())
        .stdout(Stdio::null());
    if let Some(feature) = board.feature {
        command.args(["--features", feature]);
    }
    if !std::io::stderr().is_terminal() {
        command.arg("--quiet");
    }
    let status = command.status().map_err(|error| format!("cargo cannot be started: {error}"))?;
    if !status.success() {
        return Err(format!("the image of {} does not build: cargo ended with {status}", board.name));
    }
    Ok(target.join(board.target).join(PROFILE).join(board.name))
}

/// Where the sources are: this program was built from the same tree.
///
/// # Errors
/// A sentence that says where they should be.
pub fn workspace() -> Result<PathBuf, String> {
    let workspace = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let found = workspace.canonicalize().ok().filter(|folder| folder.join("firmware/qemu/Cargo.toml").is_file());
    found.ok_or_else(|| format!("the sources of the firmware are not at {} any more", workspace.display()))
}

fn target_folder(workspace: &Path) -> PathBuf {
    env::var_os("CARGO_TARGET_DIR").map_or_else(|| workspace.join("target"), |folder| workspace.join(folder))
}

/// Cargo, set up for the way chosen.
fn cargo(board: &Board, toolchain: Toolchain) -> Command {
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
                .env(format!("CARGO_TARGET_{}_LINKER", shouted(board.target)), "ld.lld")
                .env_remove("RUSTUP_TOOLCHAIN")
                .arg("-Zbuild-std=core,alloc");
        }
    }
    command
}

/// A target in the names of cargo's settings.
fn shouted(target: &str) -> String {
    target.to_uppercase().replace(['-', '.'], "_")
}

/// Flags that keep the folders of this desktop out of the image: a panic carries the path of its source, and a home
/// folder in each takes flash, differs from desktop to desktop, and is nobody's business.
fn short_paths(workspace: &Path) -> OsString {
    let home = env::var_os("CARGO_HOME").map(PathBuf::from);
    let home = home.or_else(|| env::home_dir().map(|home| home.join(".cargo"))).unwrap_or_default();
    let crates = fs::read_dir(home.join("registry/src")).into_iter().flatten().flatten().map(|entry| entry.path());
    let mut flags = OsString::new();
    // Flags are separated by spaces: a folder with one in its name stays as it is.
    for folder in
        crates.chain([workspace.to_owned()]).filter(|folder| !folder.as_os_str().as_encoded_bytes().contains(&b' '))
    {
        flags.push(" --remap-path-prefix=");
        flags.push(folder.join(""));
        flags.push("=");
    }
    flags
}

#[cfg(test)]
mod tests {
    use super::shouted;

    #[test]
    fn a_target_is_named_as_cargo_names_it() {
        assert_eq!(shouted("thumbv8m.main-none-eabihf"), "THUMBV8M_MAIN_NONE_EABIHF");
    }
}
