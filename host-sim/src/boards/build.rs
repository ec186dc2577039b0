//! Building a board's image from the sources beside this program.

use super::toolchain::Toolchain;
use super::{Board, Parts};
use rustix::fs::FlockOperation;
use std::ffi::OsString;
use std::io::IsTerminal as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::{env, fs, io, process};

const PROFILE: &str = "firmware";

/// Builds the image of a board with these parts and returns its path; cargo reports progress on standard error.
pub(crate) fn build(board: &Board, parts: &Parts, toolchain: Toolchain) -> Result<PathBuf, String> {
    let mut command = cargo(board, toolchain);
    command.envs(parts.environment());
    // The next build writes to the same path, in this or in another process.
    let _building = lock(&target_folder(&workspace()?).join("swarm"))?;
    let built = build_with(board, command, parts.app.feature())?;
    let kept = built.with_file_name(parts.file_name(board));
    keep(&built, &kept).map_err(|error| format!("{}: {error}", kept.display()))?;
    Ok(kept)
}

/// Waits until no other process builds into a folder; dropping the file lets the next one build.
fn lock(folder: &Path) -> Result<fs::File, String> {
    let path = folder.join("building");
    let file = fs::create_dir_all(folder).and_then(|()| fs::File::create(&path));
    let locked = file.and_then(|file| Ok(rustix::fs::flock(&file, FlockOperation::LockExclusive).map(|()| file)?));
    locked.map_err(|error| format!("{}: {error}", path.display()))
}

/// Copies a file, so that emulators of other processes which read the copy see one whole file or the other.
fn keep(built: &Path, kept: &Path) -> io::Result<()> {
    let fresh = kept.with_extension(format!("{}", process::id()));
    fs::copy(built, &fresh)?;
    fs::rename(&fresh, kept)
}

fn build_with(board: &Board, mut command: Command, also: Option<&str>) -> Result<PathBuf, String> {
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
    for feature in board.feature.into_iter().chain(also) {
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

/// The variable that names the checkout with the sources.
const CHECKOUT: &str = "CONCLAVE_CHECKOUT";

/// Returns the checkout with the sources of firmware and page: the one that [`CHECKOUT`] names, or the one around the current
/// folder, or around this program.
pub(crate) fn workspace() -> Result<PathBuf, String> {
    let around = [env::current_dir(), env::current_exe()].into_iter().flatten();
    find_checkout(env::var_os(CHECKOUT).map(PathBuf::from), around)
}

fn find_checkout(named: Option<PathBuf>, mut around: impl Iterator<Item = PathBuf>) -> Result<PathBuf, String> {
    if let Some(named) = named {
        let missing = || format!("{CHECKOUT}={}: the sources of Conclave are not there", named.display());
        return named.canonicalize().ok().filter(|folder| is_checkout(folder)).ok_or_else(missing);
    }
    let found = around.find_map(|start| start.ancestors().find(|folder| is_checkout(folder)).map(Path::to_owned));
    found.ok_or_else(|| {
        format!("the sources of Conclave are not found: start this in a checkout, or name one in {CHECKOUT}")
    })
}

fn is_checkout(folder: &Path) -> bool {
    folder.join("firmware/qemu/Cargo.toml").is_file()
}

pub(crate) fn target_folder(workspace: &Path) -> PathBuf {
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
    use super::{env_name, find_checkout, keep};
    use std::fs;
    use std::path::PathBuf;
    use std::sync::atomic::{AtomicBool, Ordering};

    #[test]
    fn who_reads_an_image_that_is_built_again_sees_a_whole_one() {
        let folder = tempfile::tempdir().unwrap();
        let [built, kept] = ["built", "kept"].map(|name| folder.path().join(name));
        fs::write(&built, vec![7; 1_000_000]).unwrap();
        keep(&built, &kept).unwrap();
        let done = AtomicBool::new(false);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                (0..100).for_each(|_| keep(&built, &kept).unwrap());
                done.store(true, Ordering::Relaxed);
            });
            while !done.load(Ordering::Relaxed) {
                assert_eq!(fs::read(&kept).unwrap().len(), 1_000_000);
            }
        });
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 2);
    }

    #[test]
    fn a_checkout_is_the_one_named_or_the_first_one_around() {
        let folder = tempfile::tempdir().unwrap();
        let [one, two] = ["one", "two"].map(|name| folder.path().canonicalize().unwrap().join(name));
        for checkout in [&one, &two] {
            fs::create_dir_all(checkout.join("firmware/qemu/src")).unwrap();
            fs::write(checkout.join("firmware/qemu/Cargo.toml"), "").unwrap();
        }
        let around = || [folder.path().to_owned(), two.join("firmware/qemu/src"), one.clone()].into_iter();
        assert_eq!(find_checkout(None, around()), Ok(two.clone()));
        assert_eq!(find_checkout(Some(one.clone()), around()), Ok(one.clone()));
        assert!(find_checkout(Some(PathBuf::from("/nowhere")), around()).unwrap_err().contains("/nowhere"));
        assert!(find_checkout(None, std::iter::empty()).unwrap_err().contains("CONCLAVE_CHECKOUT"));
    }

    #[test]
    fn a_target_is_spelt_as_in_cargos_variables() {
        assert_eq!(env_name("thumbv8m.main-none-eabihf"), "THUMBV8M_MAIN_NONE_EABIHF");
    }
}
