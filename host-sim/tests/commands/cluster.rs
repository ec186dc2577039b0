//! The recipes of `docs/cluster`, run as they are: by Slurm and by GNU parallel on this machine. A machine that is lost
//! amid its part changes nothing about the report.

use crate::support::succeeds;
use std::fs;
use std::net::TcpListener;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::time::Duration;

const WORK: &str = "run storm --seeds 3..10";
const PARTS: usize = 4;

fn recipe(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/cluster").join(name)
}

fn has(tool: &str) -> bool {
    Command::new("sh").args(["-c", &format!("command -v {tool}")]).output().is_ok_and(|out| out.status.success())
}

fn report_of_one_machine() -> String {
    succeeds(&WORK.split(' ').collect::<Vec<_>>())
}

/// Writes a program of the shell.
fn script(path: &Path, text: &str) {
    fs::write(path, format!("#!/bin/sh\n{text}\n")).unwrap();
    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
}

fn text(out: &Output) -> String {
    format!("{}{}", String::from_utf8_lossy(&out.stdout), String::from_utf8_lossy(&out.stderr))
}

#[test]
fn gnu_parallel_runs_a_part_again_that_failed_and_the_report_is_that_of_one_machine() {
    if !has("parallel") {
        eprintln!("GNU PARALLEL IS MISSING: ITS RECIPE WAS NOT TESTED. Install it with `apt install parallel`.");
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let program = env!("CARGO_BIN_EXE_conclave");
    // The second part fails at first, as on a machine that is lost.
    let fails = "case \"$*\" in *--shard\\ 2/*) [ -e failed ] || { touch failed; exit 1; } ;; esac";
    script(&folder.path().join("conclave"), &format!("{fails}\nexec {program} \"$@\""));
    fs::write(folder.path().join("hosts"), ":\n").unwrap();
    let mut run = Command::new("sh");
    run.arg(recipe("parallel.sh")).current_dir(&folder).env("PARTS", PARTS.to_string()).env("WORK", WORK);
    let out = run.env("HOME", folder.path()).output().unwrap();
    assert!(out.status.success() && folder.path().join("failed").exists(), "{}", text(&out));
    assert_eq!(String::from_utf8(out.stdout).unwrap(), report_of_one_machine());
}

/// A controller and two daemons of Slurm on the loopback interface, in a folder of their own.
struct Slurm {
    folder: tempfile::TempDir,
}

impl Slurm {
    fn start() -> Self {
        let slurm = Self { folder: tempfile::tempdir().unwrap() };
        let path = slurm.folder.path().display().to_string();
        let ports: Vec<TcpListener> = (0..3).map(|_| TcpListener::bind("127.0.0.1:0").unwrap()).collect();
        let [controller, one, two] = [0, 1, 2].map(|at: usize| ports[at].local_addr().unwrap().port());
        drop(ports);
        fs::write(slurm.file("munge.key"), [7; 1024]).unwrap();
        fs::set_permissions(slurm.file("munge.key"), fs::Permissions::from_mode(0o400)).unwrap();
        fs::set_permissions(&slurm.folder, fs::Permissions::from_mode(0o755)).unwrap();
        for name in ["state", "spool-one", "spool-two"] {
            fs::create_dir(slurm.file(name)).unwrap();
        }
        let [host, user] = [("hostname", "-s"), ("id", "-un")].map(|(tool, flag)| slurm.run(tool, &[flag]));
        let node = |name, port| format!("NodeName={name} NodeHostname={host} NodeAddr=127.0.0.1 Port={port} CPUs=1\n");
        let settings = format!(
            "ClusterName=loopback\nSlurmctldHost={host}(127.0.0.1)\nSlurmUser={user}\nSlurmdUser={user}\n\
             AuthType=auth/munge\nCredType=cred/munge\nAuthInfo=socket={path}/munge.sock,cred_expire=5\n\
             ProctrackType=proctrack/linuxproc\nTaskPlugin=task/none\nSwitchType=switch/none\nMpiDefault=none\n\
             SlurmctldPort={controller}\nStateSaveLocation={path}/state\nSlurmdSpoolDir={path}/spool-%n\n\
             SlurmctldPidFile={path}/slurmctld.pid\nSlurmdPidFile={path}/slurmd-%n.pid\n\
             SlurmctldLogFile={path}/slurmctld.log\nSlurmdLogFile={path}/slurmd-%n.log\n\
             SelectType=select/cons_tres\nSelectTypeParameters=CR_Core\nSlurmdTimeout=5\nKillWait=1\nJobRequeue=1\n\
             {}{}PartitionName=all Nodes=one,two Default=YES MaxTime=INFINITE State=UP\n",
            node("one", one),
            node("two", two)
        );
        fs::write(slurm.file("slurm.conf"), settings).unwrap();
        let munge = ["key-file=munge.key", "socket=munge.sock", "pid-file=munged.pid", "log-file=munged.log"];
        let munge = munge.map(|flag| flag.replace('=', &format!("={path}/")));
        let munge: Vec<String> = munge.iter().map(|flag| format!("--{flag}")).collect();
        let seed = format!("--seed-file={path}/munged.seed");
        let mut flags: Vec<&str> = munge.iter().map(String::as_str).collect();
        flags.extend(["--force", &seed]);
        slurm.run("munged", &flags);
        slurm.run("slurmctld", &[]);
        for node in ["one", "two"] {
            slurm.run("slurmd", &["-N", node]);
        }
        slurm.wait("both nodes are up", || slurm.run("sinfo", &["-h", "-o", "%D %t"]) == "2 idle");
        slurm
    }

    fn file(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Runs a tool of Slurm; returns what it prints.
    fn run(&self, tool: &str, arguments: &[&str]) -> String {
        let mut command = Command::new(tool);
        let out = command.args(arguments).env("SLURM_CONF", self.file("slurm.conf")).output().unwrap();
        assert!(out.status.success(), "{tool} {arguments:?}: {}", text(&out));
        String::from_utf8(out.stdout).unwrap().trim().to_owned()
    }

    fn wait(&self, what: &str, is_so: impl Fn() -> bool) {
        for _ in 0..900 {
            if is_so() {
                return;
            }
            std::thread::sleep(Duration::from_millis(200));
        }
        let log = fs::read_to_string(self.file("slurmctld.log")).unwrap_or_default();
        panic!("three minutes have passed, and not: {what}\n{log}");
    }

    /// Ends a process by the number in a file, if it is there.
    fn kill(&self, name: &str) {
        let Ok(pid) = fs::read_to_string(self.file(name)) else { return };
        let _ = Command::new("kill").args(["-9", pid.trim()]).output();
    }
}

impl Drop for Slurm {
    fn drop(&mut self) {
        for name in ["task-of-two", "slurmd-one.pid", "slurmd-two.pid", "slurmctld.pid", "munged.pid"] {
            self.kill(name);
        }
    }
}

#[test]
fn slurm_runs_a_part_again_whose_machine_was_lost_and_the_report_is_that_of_one_machine() {
    let missing: Vec<&str> =
        ["munged", "slurmctld", "slurmd", "sbatch"].into_iter().filter(|tool| !has(tool)).collect();
    if !missing.is_empty() {
        let names = missing.join(", ");
        eprintln!("{names} MISSING: THE RECIPE OF SLURM WAS NOT TESTED. Install them with `apt install slurm-wlm`.");
        return;
    }
    let slurm = Slurm::start();
    // The second machine never comes to an end of its part.
    fs::create_dir(slurm.file("bin")).unwrap();
    let stays = format!(
        "if [ \"$SLURMD_NODENAME\" = two ]; then echo $$ > {0}.new; mv {0}.new {0}; exec sleep 600; fi",
        slurm.file("task-of-two").display()
    );
    let program = env!("CARGO_BIN_EXE_conclave");
    script(&slurm.file("bin/conclave"), &format!("{stays}\nexec {program} \"$@\""));
    symlink(recipe("slurm.sh"), slurm.file("slurm.sh")).unwrap();
    let path = format!("{}:{}", slurm.file("bin").display(), std::env::var("PATH").unwrap_or_default());
    let mut submit = Command::new("sbatch");
    submit.args([&format!("--array=1-{PARTS}"), "--cpus-per-task=1", "--export=ALL", "slurm.sh"]);
    submit.current_dir(&slurm.folder).env("SLURM_CONF", slurm.file("slurm.conf")).env("PATH", path);
    let out = submit.env("PARTS", PARTS.to_string()).env("WORK", WORK).output().unwrap();
    assert!(out.status.success(), "{}", text(&out));
    slurm.wait("a part runs on the second machine", || slurm.file("task-of-two").exists());
    let lost = fs::read_to_string(slurm.file("task-of-two")).unwrap();
    let status = fs::read_to_string(format!("/proc/{}/stat", lost.trim())).unwrap();
    let shepherd = status.rsplit(')').next().unwrap().split_whitespace().nth(1).unwrap().to_owned();
    fs::write(slurm.file("shepherd-of-two"), shepherd).unwrap();
    for name in ["slurmd-two.pid", "shepherd-of-two", "task-of-two"] {
        slurm.kill(name);
    }
    let files: Vec<String> =
        (1..=PARTS).map(|part| slurm.file(&format!("outcomes/{part}.jsonl")).display().to_string()).collect();
    slurm.wait("all parts are there", || files.iter().all(|file| Path::new(file).exists()));
    let merge: Vec<&str> = ["merge"].into_iter().chain(files.iter().map(String::as_str)).collect();
    assert_eq!(succeeds(&merge), report_of_one_machine());
}
