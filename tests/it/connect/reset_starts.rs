//! A start that Slurm sets again, with stand-ins for Slurm's programs, a real server and a real database.

use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::process::Command;

use fairshared::domain::time::Timestamp;
use fairshared::service::{Clock, SystemClock};
use serde_json::{Value, json};
use tempfile::TempDir;

use super::recorded;
use crate::cli::program::{Ended, Server, end, program, run};
use crate::support::database::{TestDb, sqlite_unmigrated};

/// A Slurm of stand-ins, and a server with a group for it. The programs print the texts that were recorded, except those about jobs.
pub struct StandInSlurm {
    folder: TempDir,
    server: Server,
    key: String,
    _db: TestDb,
}

const SCONTROL: &str =
    "case \"$*\" in *partition*) cat partitions.txt ;; *node*) cat nodes.txt ;; *) cat config.txt ;; esac";
const SACCT: &str = "case \"$*\" in *--jobs=*) cat jobs.txt ;; *) cat runs.txt ;; esac";

impl StandInSlurm {
    pub fn start() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let db = sqlite_unmigrated();
        run(&db, ["migrate", "up"]).ok();
        let key = run(&db, ["keys", "create", "--role", "admin", "--label", "slurm"]).ok().trim_end().to_owned();
        run(&db, ["groups", "create", "rig"]).ok();
        let slurm = Self { folder, server: Server::over(&db.url), key, _db: db };
        for (name, text) in [
            ("config.txt", recorded::CONFIG),
            ("partitions.txt", recorded::PARTITIONS),
            ("nodes.txt", recorded::NODES),
            ("associations.txt", recorded::ASSOCIATIONS),
            ("sdiag.txt", recorded::SDIAG),
            ("squeue.txt", ""),
            ("sprio.txt", ""),
        ] {
            slurm.write(name, text);
        }
        for (name, script) in [
            ("scontrol", SCONTROL),
            ("sacct", SACCT),
            ("sacctmgr", "cat associations.txt"),
            ("sdiag", "cat sdiag.txt"),
            ("squeue", "cat squeue.txt"),
            ("sprio", "cat sprio.txt"),
        ] {
            slurm.stand_in(name, script);
        }
        slurm
    }

    /// Makes a program that runs in the folder of the texts.
    pub fn stand_in(&self, name: &str, script: &str) {
        self.write(name, &format!("#!/bin/sh\ncd '{}'\n{script}\n", self.folder.path().display()));
        std::fs::set_permissions(self.path(name), std::fs::Permissions::from_mode(0o755)).unwrap();
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub fn write(&self, name: &str, text: &str) {
        std::fs::write(self.path(name), text).unwrap();
    }

    /// The accounting has one job that runs since `start`.
    fn run_since(&self, start: i64) {
        let head = recorded::SACCT.lines().next().unwrap();
        let row = format!(
            "7|7|rig|games|climate|RUNNING|main|normal|{start}|{start}|Unknown|9|00:00:00|billing=2,cpu=2,mem=100M,node=1|2|n1|1|01:00:00"
        );
        let text = format!("{head}\n{row}\n");
        self.write("runs.txt", &text);
        self.write("jobs.txt", &text);
        self.write("squeue.txt", &format!("7|N/A|7|RUNNING|None|games|climate|main|{start}|1|cpu=2|\n"));
    }

    /// A connector of this server with more keys of `[slurm]`.
    pub fn connector(&self, keys: &str) -> Command {
        self.connector_of(&self.server.address, keys)
    }

    fn connector_of(&self, server: &str, keys: &str) -> Command {
        let (state, key) = (self.path("state").display().to_string(), &self.key);
        let text =
            format!("server = {server:?}\nkey = {key:?}\nlog = \"off\"\n[slurm]\nstate_dir = {state:?}\n{keys}\n");
        self.write("f.toml", &text);
        let mut command: Command = program();
        command.env("PATH", format!("{}:/usr/bin:/bin", self.folder.path().display()));
        command.args(["connect", "slurm", "--config"]).arg(self.path("f.toml"));
        command
    }

    /// One round of a process of its own.
    fn round_to(&self, server: &str) -> Ended {
        end(self.connector_of(server, "").args(["--once", "-o", "json"]))
    }

    #[track_caller]
    fn round(&self) -> Value {
        let outcome = self.round_to(&self.server.address).json();
        assert_eq!(outcome["errors"], json!([]), "{outcome}");
        outcome
    }

    fn ask(&self, args: &[&str]) -> Value {
        end(program().env("FAIRSHARED_SERVER", &self.server.address).env("FAIRSHARED_KEY", &self.key).args(args)).json()
    }

    /// The kernels, by start: the start, the end, and the slot-seconds of processors that are recorded.
    fn kernels(&self) -> Vec<(i64, Option<i64>, f64)> {
        self.ask(&["jobs", "run", "aggregate", "--group", "rig", "-o", "json"]);
        let listed = self.ask(&["kernels", "list", "rig", "-o", "json"]);
        let day = |days: i64| {
            let time = SystemClock.now().plus_micros(days * 86_400_000_000).to_string();
            time[..10].to_owned()
        };
        let records = self.ask(&["usage", "rig", "--from", &day(-1), "--to", &day(0), "-o", "json"]);
        let seconds = |time: &Value| Some(time.as_str()?.parse::<Timestamp>().unwrap().micros() / 1_000_000);
        let used = |kernel: &Value| -> f64 {
            let of_kernel = records["items"].as_array().unwrap().iter().filter(|row| row["kernel_id"] == *kernel);
            of_kernel.map(|row| row["resource_usage"]["cpu"].as_str().unwrap().parse::<f64>().unwrap()).sum()
        };
        let kernel = |kernel: &Value| {
            let start = seconds(&kernel["started_at"]).unwrap();
            (start, seconds(&kernel["terminated_at"]), used(&kernel["kernel_id"]))
        };
        let mut kernels: Vec<_> = listed["items"].as_array().unwrap().iter().map(kernel).collect();
        kernels.sort_by_key(|(start, ..)| *start);
        kernels
    }
}

#[test]
fn the_server_charges_nothing_for_a_start_that_slurm_has_taken_back() {
    let slurm = StandInSlurm::start();
    let first = SystemClock.now().micros() / 1_000_000 - 900;
    let (second, third) = (first + 300, first + 600);
    slurm.run_since(first);
    assert_eq!(slurm.round()["reported"], 1);
    let kernels = slurm.kernels();
    assert_eq!((kernels.len(), kernels[0].1), (1, None));
    assert!(kernels[0].2 >= 2.0 * 900.0, "{kernels:?}");

    // The start is set again, and again while the server does not answer.
    slurm.run_since(second);
    assert_eq!(slurm.round_to("http://127.0.0.1:9").code, Some(1));
    slurm.run_since(third);
    assert_eq!(slurm.round()["reported"], 3);
    let kernels = slurm.kernels();
    assert_eq!(kernels[..2], [(first, Some(first), 0.0), (second, Some(second), 0.0)]);
    assert_eq!((kernels.len(), kernels[2].0, kernels[2].1), (3, third, None));
    assert!((600.0..1_200.0).contains(&kernels[2].2), "{kernels:?}");
    assert_eq!(slurm.round()["reported"], 1);
    slurm.ask(&["audit", "-o", "json"]);
}
