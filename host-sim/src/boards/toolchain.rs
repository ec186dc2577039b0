//! The toolchain of boards, the emulator and a compiler, found or installed.
//!
//! `next` decides from what is observed, and only decides: it is a function of `Facts`. [`prepare`] observes, prints
//! the next command, runs it, and observes again. A command that it may not run is returned for the user to run.

use super::{EMULATED, workspace};
use std::env;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// The program that emulates boards.
pub(crate) const EMULATOR: &str = "qemu-system-arm";

/// The MQTT broker, and its package, which every package manager knows by this name.
const BROKER: &str = "mosquitto";
/// Where it is installed, besides the PATH of a user.
const BROKER_FOLDERS: [&str; 3] = ["/usr/sbin", "/usr/local/sbin", "/opt/homebrew/sbin"];

/// The packages of Debian's compiler, with the sources of the core library.
const DEBIAN_COMPILER: [&str; 4] = ["rustc-web", "cargo-web", "rust-web-src", "lld"];

/// The compiler to build with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Toolchain {
    /// The compiler in use, which has the board's core library.
    Installed,
    /// Debian's compiler, which builds the core library from source.
    Debian,
}

/// A package manager: its program, and its command that installs the emulator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct PackageManager(&'static str, &'static str);

const APT: PackageManager = PackageManager("apt-get", "apt-get install --yes qemu-system-arm");
/// The only one that must not run as root.
const BREW: PackageManager = PackageManager("brew", "brew install qemu");

const PACKAGE_MANAGERS: [PackageManager; 6] = [
    APT,
    PackageManager("dnf", "dnf install --assumeyes qemu-system-arm"),
    PackageManager("pacman", "pacman --sync --noconfirm qemu-system-arm"),
    PackageManager("zypper", "zypper --non-interactive install qemu-arm"),
    PackageManager("apk", "apk add qemu-system-arm"),
    BREW,
];

#[expect(clippy::struct_excessive_bools, reason = "independent facts: every combination is possible")]
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Facts {
    target: &'static str,
    emulator: bool,
    /// The compiler in use has the target's core library.
    core: bool,
    /// Debian's compiler, its sources and its linker are installed.
    debian_compiler: bool,
    rustup: bool,
    root: bool,
    packages: Option<PackageManager>,
    failed: Vec<Step>,
}

/// A step that installs what is missing: the core library by rustup, or packages by apt-get.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Step {
    AddTarget,
    InstallCompiler,
    InstallEmulator,
}

impl Step {
    fn command(self, target: &str) -> String {
        match self {
            Self::AddTarget => format!("rustup target add {target}"),
            Self::InstallCompiler => format!("apt-get install --yes {}", DEBIAN_COMPILER.join(" ")),
            Self::InstallEmulator => APT.1.to_owned(),
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Next {
    /// Everything is installed: build with this compiler.
    Ready(Toolchain),
    /// Run this step, and observe again.
    Do(Step),
    /// Only the user can run the command that installs what is missing.
    Ask { missing: &'static str, command: String },
}

fn next(facts: &Facts) -> Next {
    let may_try = |step: Step| !facts.failed.contains(&step);
    let may_install = facts.root && facts.packages == Some(APT);
    let toolchain = if facts.core {
        Toolchain::Installed
    } else if facts.rustup && may_try(Step::AddTarget) {
        return Next::Do(Step::AddTarget);
    } else if facts.debian_compiler {
        Toolchain::Debian
    } else if may_install && may_try(Step::InstallCompiler) {
        return Next::Do(Step::InstallCompiler);
    } else {
        return Next::Ask { missing: "a compiler for the board", command: compiler_command(facts) };
    };
    if facts.emulator {
        Next::Ready(toolchain)
    } else if may_install && may_try(Step::InstallEmulator) {
        Next::Do(Step::InstallEmulator)
    } else {
        Next::Ask { missing: "the emulator qemu-system-arm", command: emulator_command(facts) }
    }
}

fn compiler_command(facts: &Facts) -> String {
    let add_target = Step::AddTarget.command(facts.target);
    match (facts.rustup, facts.packages) {
        (true, _) if !facts.failed.contains(&Step::AddTarget) => add_target,
        (_, Some(APT)) => as_root(facts, &Step::InstallCompiler.command(facts.target)),
        (true, _) => add_target,
        (false, _) => format!("install rustup (https://rustup.rs), then: {add_target}"),
    }
}

fn emulator_command(facts: &Facts) -> String {
    match facts.packages {
        Some(BREW) => BREW.1.to_owned(),
        Some(PackageManager(_, command)) => as_root(facts, command),
        None => "install QEMU 7 or later, with qemu-system-arm on the PATH (https://www.qemu.org/download)".to_owned(),
    }
}

fn as_root(facts: &Facts, command: &str) -> String {
    if facts.root { command.to_owned() } else { format!("sudo {command}") }
}

/// Finds or installs the toolchain of emulated boards; each command that it runs is printed on standard error.
///
/// # Errors
/// A sentence with the command that the user has to run.
pub fn prepare() -> Result<Toolchain, String> {
    workspace()?; // nothing is installed for sources that are not there
    prepare_for(|failed| observe(EMULATED.target, failed))
}

/// Finds or installs the compiler for this target, and no emulator.
pub(crate) fn prepare_compiler(target: &'static str) -> Result<Toolchain, String> {
    workspace()?;
    prepare_for(|failed| Facts { emulator: true, ..observe(target, failed) })
}

/// Finds or installs the emulator, for an image that is built already.
///
/// # Errors
/// A sentence with the command that the user has to run.
pub fn prepare_emulator() -> Result<(), String> {
    prepare_for(|failed| Facts { core: true, ..observe(EMULATED.target, failed) }).map(drop)
}

/// Finds or installs the standard library of a target that has one, for the compiler in use.
pub(crate) fn prepare_library(target: &str) -> Result<(), String> {
    let command = Step::AddTarget.command(target);
    if !has_core(target) && on_path("rustup").is_some() {
        eprintln!("setting up: {command}");
        let _ = run(&command);
    }
    let missing = || format!("the standard library of {target} is missing; run this and try again: {command}");
    if has_core(target) { Ok(()) } else { Err(missing()) }
}

/// Finds or installs the MQTT broker; returns its program.
///
/// # Errors
/// A sentence with the command that the user has to run.
pub fn prepare_broker() -> Result<PathBuf, String> {
    let in_folders = || BROKER_FOLDERS.iter().map(|folder| Path::new(folder).join(BROKER)).find(|file| file.is_file());
    let find = || on_path(BROKER).or_else(in_folders);
    if let Some(program) = find() {
        return Ok(program);
    }
    let facts = observe(EMULATED.target, &[]);
    if facts.root && facts.packages == Some(APT) {
        let command = broker_command(&facts);
        eprintln!("setting up: {command}");
        let _ = run(&command);
    }
    let missing = || format!("the broker mosquitto is missing; run this and try again: {}", broker_command(&facts));
    find().ok_or_else(missing)
}

/// Returns the command that installs the broker: that of the emulator, with another package.
fn broker_command(facts: &Facts) -> String {
    match facts.packages {
        Some(PackageManager(_, command)) => {
            let install = command.rsplit_once(' ').map_or("", |(install, _)| install);
            let command = format!("{install} {BROKER}");
            if facts.packages == Some(BREW) { command } else { as_root(facts, &command) }
        }
        None => "install mosquitto 2 or later (https://mosquitto.org/download)".to_owned(),
    }
}

fn prepare_for(observe: impl Fn(&[Step]) -> Facts) -> Result<Toolchain, String> {
    let mut failed = Vec::new();
    loop {
        let facts = observe(&failed);
        match next(&facts) {
            Next::Ready(toolchain) => return Ok(toolchain),
            Next::Do(step) => {
                let command = step.command(facts.target);
                eprintln!("setting up: {command}");
                // A step is not repeated, whether it failed or succeeded without effect.
                let _ = run(&command);
                failed.push(step);
            }
            Next::Ask { missing, command } => {
                return Err(format!("{missing} is missing; run this and try again: {command}"));
            }
        }
    }
}

fn observe(target: &'static str, failed: &[Step]) -> Facts {
    Facts {
        target,
        emulator: on_path(EMULATOR).is_some(),
        core: has_core(target),
        debian_compiler: has_debian_compiler(),
        rustup: on_path("rustup").is_some(),
        root: rustix::process::geteuid().is_root(),
        packages: PACKAGE_MANAGERS.into_iter().find(|manager| on_path(manager.0).is_some()),
        failed: failed.to_vec(),
    }
}

/// Returns the path of a program, if it is on the PATH.
#[must_use]
pub(crate) fn on_path(program: &str) -> Option<PathBuf> {
    let folders = env::var_os("PATH")?;
    env::split_paths(&folders).map(|folder| folder.join(program)).find(|path| path.is_file())
}

/// Returns whether the compiler in use has a core library for the target.
fn has_core(target: &str) -> bool {
    let rustc = env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    let output = Command::new(rustc).args(["--print", "target-libdir", "--target", target]).output();
    output.is_ok_and(|output| {
        output.status.success() && Path::new(String::from_utf8_lossy(&output.stdout).trim()).is_dir()
    })
}

fn has_debian_compiler() -> bool {
    let output = Command::new("/usr/bin/rustc").args(["--print", "sysroot"]).output();
    let sysroot = output.ok().filter(|output| output.status.success());
    let source = sysroot.map(|output| {
        PathBuf::from(String::from_utf8_lossy(&output.stdout).trim()).join("lib/rustlib/src/rust/library/core")
    });
    source.is_some_and(|folder| folder.is_dir()) && on_path("ld.lld").is_some()
}

/// Runs a command without quoting; its output goes to standard error.
fn run(command: &str) -> bool {
    let mut words = command.split_whitespace();
    let Some(program) = words.next() else { return false };
    let mut process = Command::new(program);
    process.args(words).stdin(Stdio::null()).stdout(Stdio::from(std::io::stderr()));
    if program == APT.0 {
        process.env("DEBIAN_FRONTEND", "noninteractive");
    }
    process.status().is_ok_and(|status| status.success())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn complete() -> Facts {
        Facts { emulator: true, core: true, rustup: true, ..Facts::default() }
    }

    fn debian() -> Facts {
        Facts { root: true, packages: Some(APT), ..Facts::default() }
    }

    fn asks(facts: &Facts) -> String {
        match next(facts) {
            Next::Ask { command, .. } => command,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn rustup_is_tried_first_for_the_core_library_then_debians_compiler_builds_it() {
        let without_rustup = Facts { emulator: true, rustup: true, failed: vec![Step::AddTarget], ..debian() };
        let next_of = [
            (complete(), Next::Ready(Toolchain::Installed)),
            (Facts { core: false, ..complete() }, Next::Do(Step::AddTarget)),
            (Facts { core: false, debian_compiler: true, ..complete() }, Next::Do(Step::AddTarget)),
            (without_rustup.clone(), Next::Do(Step::InstallCompiler)),
            (Facts { debian_compiler: true, ..without_rustup }, Next::Ready(Toolchain::Debian)),
        ];
        for (facts, expected) in next_of {
            assert_eq!(next(&facts), expected, "{facts:?}");
        }
        assert_eq!(Step::AddTarget.command("thumbv6m-none-eabi"), "rustup target add thumbv6m-none-eabi");
    }

    #[test]
    fn the_broker_is_installed_as_the_emulator_is() {
        let commands = [debian(), Facts { packages: Some(BREW), ..debian() }, Facts { root: false, ..debian() }];
        assert_eq!(
            commands.map(|facts| broker_command(&facts)),
            ["apt-get install --yes mosquitto", "brew install mosquitto", "sudo apt-get install --yes mosquitto"]
        );
    }

    #[test]
    fn only_root_installs_the_emulator() {
        assert_eq!(next(&Facts { core: true, ..debian() }), Next::Do(Step::InstallEmulator));
        assert_eq!(asks(&Facts { core: true, root: false, ..debian() }), "sudo apt-get install --yes qemu-system-arm");
    }

    #[test]
    fn no_step_is_tried_twice() {
        let failed = vec![Step::InstallEmulator];
        assert_eq!(asks(&Facts { core: true, failed, ..debian() }), "apt-get install --yes qemu-system-arm");
        let failed = vec![Step::AddTarget, Step::InstallCompiler];
        let facts = Facts { rustup: true, failed, ..debian() };
        assert_eq!(asks(&facts), "apt-get install --yes rustc-web cargo-web rust-web-src lld");
    }

    #[test]
    fn every_system_gets_its_own_command() {
        for manager in PACKAGE_MANAGERS {
            let asked = asks(&Facts { core: true, packages: Some(manager), ..Facts::default() });
            let expected = if manager == BREW { manager.1.to_owned() } else { format!("sudo {}", manager.1) };
            assert_eq!(asked, expected);
        }
        assert!(asks(&Facts { core: true, ..Facts::default() }).contains("qemu-system-arm on the PATH"));
        assert!(asks(&Facts::default()).starts_with("install rustup"));
    }
}
