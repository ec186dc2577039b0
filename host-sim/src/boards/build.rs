//! Building a board's image from the sources beside this program.

use super::toolchain::Toolchain;
use super::{Board, Parts};
use std::ffi::OsString;
use std::io::IsTerminal as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::{env, fs};

const PROFILE: &str = "firmware";

/// Builds the image of a board with these parts and returns its path; cargo reports progress on standard error.
pub(crate) fn build(board: &Board, parts: &Parts, toolchain: Toolchain) -> Result<PathBuf, String> {
    let mut command = cargo(board, toolchain);
    command.envs(parts.environment());
    let built = build_with(board, command)?;
    // The next build writes to the same path.
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
        .env(format!("CARGO_TARGET_{}_RUSTFLAGS", env_name(board.target)), short_paths(&workspace))
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

/// Returns the workspace that this program was built from.
pub(super) fn workspace() -> Result<PathBuf, String> {
    let workspace = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let found = workspace.canonicalize().ok().filter(|folder| folder.join("firmware/qemu/Cargo.toml").is_file());
    found.ok_or_else(|| format!("the sources of the firmware are not at {} any more", workspace.display()))
}

fn target_folder(workspace: &Path) -> PathBuf {
    env::var_os("CARGO_TARGET_DIR").map_or_else(|| workspace.join("target"), |folder| workspace.join(folder))
}

/// Returns cargo, set up for the toolchain.
fn cargo(board: &Board, toolchain: Toolchain) -> Command {
    let mut command = Command::new(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    // A cargo that runs this program sets variables for the desktop.
    for setting in ["RUSTFLAGS", "CARGO_ENCODED_RUSTFLAGS", "CARGO_BUILD_TARGET", "RUSTC_WRAPPER"] {
        command.env_remove(setting);
    }
    match toolchain {
        Toolchain::Installed => {}
        Toolchain::Debian => {
            command
                .env("RUSTC", "/usr/bin/rustc")
                .env("RUSTC_BOOTSTRAP", "1")
                .env(format!("CARGO_TARGET_{}_LINKER", env_name(board.target)), "ld.lld")
                .env_remove("RUSTUP_TOOLCHAIN")
                .arg("-Zbuild-std=core,alloc");
        }
    }
    command
}

/// Returns a target as cargo spells it in environment variables.
fn env_name(target: &str) -> String {
    target.to_uppercase().replace(['-', '.'], "_")
}

/// Returns flags that keep the folders of this desktop out of the image: a panic message contains the path of its
/// source, and a home folder in it uses flash, differs between desktops and is private.
fn short_paths(workspace: &Path) -> OsString {
    let home = env::var_os("CARGO_HOME").map(PathBuf::from);
    let home = home.or_else(|| env::home_dir().map(|home| home.join(".cargo"))).unwrap_or_default();
    let crates = fs::read_dir(home.join("registry/src")).into_iter().flatten().flatten().map(|entry| entry.path());
    let mut flags = OsString::new();
    // Flags are separated by spaces: a folder with a space in its name stays as it is.
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
    use super::env_name;

    #[test]
    fn a_target_is_spelt_as_in_cargos_variables() {
        assert_eq!(env_name("thumbv8m.main-none-eabihf"), "THUMBV8M_MAIN_NONE_EABIHF");
    }
}
