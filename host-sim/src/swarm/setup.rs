//! What booting boards needs, the emulator and a compiler for the board, found or installed.
//!
//! [`next`] decides from what is observed, and only decides: it is a function of [`Facts`]. [`prepare`] observes, says
//! in one line what it is about to do, does it, and looks again. What may not be done here is handed to the user as the
//! exact command.

use super::emulator;
use crate::boards::EMULATED;
use std::env;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Debian's compiler and what it needs to build a core library for the board.
const DEBIAN_COMPILER: [&str; 4] = ["rustc-web", "cargo-web", "rust-web-src", "lld"];

/// The compiler to build with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Toolchain {
    /// The one in use: it has the board's core library.
    Installed,
    /// Debian's own, which builds the core library from its source.
    Debian,
}

/// What is known about this system.
#[expect(clippy::struct_excessive_bools, reason = "what is there and what is not: every combination can be")]
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Facts {
    /// The processor of the board, as compilers call it.
    pub target: &'static str,
    /// The emulator is there.
    pub emulator: bool,
    /// The compiler in use has the board's core library.
    pub core: bool,
    /// Debian's compiler, its source and its linker are there.
    pub debian_compiler: bool,
    /// rustup is there.
    pub rustup: bool,
    /// We may install packages.
    pub root: bool,
    /// The program that installs packages here.
    pub packages: Option<Packages>,
    /// What was tried and did not work.
    pub failed: Vec<Step>,
}

/// A program that installs packages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Packages {
    /// Debian and its relatives.
    Apt,
    /// Fedora and its relatives.
    Dnf,
    /// Arch and its relatives.
    Pacman,
    /// openSUSE.
    Zypper,
    /// Alpine.
    Apk,
    /// macOS.
    Brew,
}

impl Packages {
    const ALL: [Self; 6] = [Self::Apt, Self::Dnf, Self::Pacman, Self::Zypper, Self::Apk, Self::Brew];

    const fn program(self) -> &'static str {
        match self {
            Self::Apt => "apt-get",
            Self::Dnf => "dnf",
            Self::Pacman => "pacman",
            Self::Zypper => "zypper",
            Self::Apk => "apk",
            Self::Brew => "brew",
        }
    }

    /// The command that installs the emulator.
    const fn emulator(self) -> &'static str {
        match self {
            Self::Apt => "apt-get install --yes qemu-system-arm",
            Self::Dnf => "dnf install --assumeyes qemu-system-arm",
            Self::Pacman => "pacman --sync --noconfirm qemu-system-arm",
            Self::Zypper => "zypper --non-interactive install qemu-arm",
            Self::Apk => "apk add qemu-system-arm",
            Self::Brew => "brew install qemu",
        }
    }
}

/// Something that can be done about what is missing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// Has rustup fetch the board's core library.
    AddTarget,
    /// Has apt-get install Debian's compiler.
    InstallCompiler,
    /// Has apt-get install the emulator.
    InstallEmulator,
}

impl Step {
    /// The command line.
    #[must_use]
    pub fn command(self, target: &str) -> String {
        match self {
            Self::AddTarget => format!("rustup target add {target}"),
            Self::InstallCompiler => format!("apt-get install --yes {}", DEBIAN_COMPILER.join(" ")),
            Self::InstallEmulator => Packages::Apt.emulator().to_owned(),
        }
    }
}

/// What to do next.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Next {
    /// Everything is there: build with this compiler.
    Ready(Toolchain),
    /// Do this, and look again.
    Do(Step),
    /// Only the user can go on, with this command.
    Ask {
        /// What is missing.
        missing: &'static str,
        /// The command that brings it.
        command: String,
    },
}

/// What to do next, from what is known.
#[must_use]
pub fn next(facts: &Facts) -> Next {
    let may_try = |step: Step| !facts.failed.contains(&step);
    let may_install = facts.root && facts.packages == Some(Packages::Apt);
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
    match (facts.rustup, facts.packages) {
        (true, _) if !facts.failed.contains(&Step::AddTarget) => Step::AddTarget.command(facts.target),
        (_, Some(Packages::Apt)) => as_root(facts, &Step::InstallCompiler.command(facts.target)),
        (true, _) => Step::AddTarget.command(facts.target),
        (false, _) => format!("install rustup (https://rustup.rs), then: {}", Step::AddTarget.command(facts.target)),
    }
}

fn emulator_command(facts: &Facts) -> String {
    match facts.packages {
        Some(Packages::Brew) => Packages::Brew.emulator().to_owned(), // never as root
        Some(packages) => as_root(facts, packages.emulator()),
        None => "install QEMU 7 or later, with qemu-system-arm on the PATH (https://www.qemu.org/download)".to_owned(),
    }
}

fn as_root(facts: &Facts, command: &str) -> String {
    if facts.root { command.to_owned() } else { format!("sudo {command}") }
}

/// Finds or installs what booting emulated boards needs, telling each step in a line.
///
/// # Errors
/// A sentence with the command that the user has to run.
pub fn prepare(tell: impl FnMut(&str)) -> Result<Toolchain, String> {
    prepare_for(|failed| observe(EMULATED.target, failed), tell)
}

/// Finds or installs what building an image for this processor needs, and no emulator.
///
/// # Errors
/// A sentence with the command that the user has to run.
pub fn prepare_compiler(target: &'static str, tell: impl FnMut(&str)) -> Result<Toolchain, String> {
    prepare_for(|failed| Facts { emulator: true, ..observe(target, failed) }, tell)
}

fn prepare_for(observe: impl Fn(&[Step]) -> Facts, mut tell: impl FnMut(&str)) -> Result<Toolchain, String> {
    let mut failed = Vec::new();
    loop {
        let facts = observe(&failed);
        match next(&facts) {
            Next::Ready(toolchain) => return Ok(toolchain),
            Next::Do(step) => {
                let command = step.command(facts.target);
                tell(&command);
                // Where it worked but brought nothing, trying again would not either.
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
        emulator: on_path(emulator::PROGRAM).is_some(),
        core: has_core(target),
        debian_compiler: has_debian_compiler(),
        rustup: on_path("rustup").is_some(),
        root: rustix::process::geteuid().is_root(),
        packages: Packages::ALL.into_iter().find(|packages| on_path(packages.program()).is_some()),
        failed: failed.to_vec(),
    }
}

/// Where a program is, if it is anywhere on the path.
#[must_use]
pub fn on_path(program: &str) -> Option<PathBuf> {
    let folders = env::var_os("PATH")?;
    env::split_paths(&folders).map(|folder| folder.join(program)).find(|path| path.is_file())
}

/// Whether the compiler in use has a core library for the board.
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

/// Runs a command of plain words; what it prints goes to standard error.
fn run(command: &str) -> bool {
    let mut words = command.split_whitespace();
    let Some(program) = words.next() else { return false };
    let mut process = Command::new(program);
    process.args(words).stdin(Stdio::null()).stdout(Stdio::from(std::io::stderr()));
    if program == Packages::Apt.program() {
        process.env("DEBIAN_FRONTEND", "noninteractive");
    }
    process.status().is_ok_and(|status| status.success())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A usual machine that has everything.
    fn complete() -> Facts {
        Facts { emulator: true, core: true, rustup: true, ..Facts::default() }
    }

    fn debian() -> Facts {
        Facts { root: true, packages: Some(Packages::Apt), ..Facts::default() }
    }

    fn asks(facts: &Facts) -> String {
        match next(facts) {
            Next::Ask { command, .. } => command,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn a_system_that_has_everything_is_ready() {
        assert_eq!(next(&complete()), Next::Ready(Toolchain::Installed));
    }

    #[test]
    fn rustup_is_asked_first_for_the_core_library() {
        assert_eq!(next(&Facts { core: false, ..complete() }), Next::Do(Step::AddTarget));
        assert_eq!(Step::AddTarget.command("thumbv6m-none-eabi"), "rustup target add thumbv6m-none-eabi");
        assert_eq!(next(&Facts { core: false, debian_compiler: true, ..complete() }), Next::Do(Step::AddTarget));
    }

    #[test]
    fn where_rustup_cannot_fetch_debians_compiler_builds_it() {
        let failed = vec![Step::AddTarget];
        let facts = Facts { emulator: true, rustup: true, failed: failed.clone(), ..debian() };
        assert_eq!(next(&facts), Next::Do(Step::InstallCompiler));
        assert_eq!(next(&Facts { debian_compiler: true, ..facts }), Next::Ready(Toolchain::Debian));
    }

    #[test]
    fn root_installs_the_emulator_and_nobody_else_does() {
        assert_eq!(next(&Facts { core: true, ..debian() }), Next::Do(Step::InstallEmulator));
        assert_eq!(asks(&Facts { core: true, root: false, ..debian() }), "sudo apt-get install --yes qemu-system-arm");
    }

    #[test]
    fn nothing_is_tried_twice() {
        let failed = vec![Step::InstallEmulator];
        assert_eq!(asks(&Facts { core: true, failed, ..debian() }), "apt-get install --yes qemu-system-arm");
        let failed = vec![Step::AddTarget, Step::InstallCompiler];
        let facts = Facts { rustup: true, failed, ..debian() };
        assert_eq!(asks(&facts), "apt-get install --yes rustc-web cargo-web rust-web-src lld");
    }

    #[test]
    fn every_system_gets_its_own_command() {
        let on = |packages| asks(&Facts { core: true, packages: Some(packages), ..Facts::default() });
        assert_eq!(on(Packages::Dnf), "sudo dnf install --assumeyes qemu-system-arm");
        assert_eq!(on(Packages::Pacman), "sudo pacman --sync --noconfirm qemu-system-arm");
        assert_eq!(on(Packages::Zypper), "sudo zypper --non-interactive install qemu-arm");
        assert_eq!(on(Packages::Apk), "sudo apk add qemu-system-arm");
        assert_eq!(on(Packages::Brew), "brew install qemu");
        assert!(asks(&Facts { core: true, ..Facts::default() }).contains("qemu-system-arm on the PATH"));
    }

    #[test]
    fn without_any_way_to_a_compiler_rustup_is_recommended() {
        assert!(asks(&Facts::default()).starts_with("install rustup"));
    }
}
