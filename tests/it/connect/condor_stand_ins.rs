//! Programs that stand in for those of HTCondor. They print texts that the real ones printed, with their times moved so that they were
//! recorded a moment ago, and `condor_userprio` keeps the factors that are set.

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use fairshared::service::{Clock, SystemClock};
use serde_json::Value;
use tempfile::TempDir;

use super::recorded::htcondor as recorded;
use crate::cli::program::{Ended, Server, end, program, run};
use crate::support::database::{TestDb, sqlite_unmigrated};

/// The time at which the texts were recorded, in seconds since 1970.
const RECORDED_AT: i64 = 1_796_019_982;
/// The beginning of all times of the recording.
const TIME_PREFIX: &str = "17960";
const TIME_DIGITS: usize = 10;

const QUEUE: &str = "cat queue.json";
const HISTORY: &str = "case \"$*\" in *-epochs*) cat epochs.json ;; *) cat history.json ;; esac";
const STATUS: &str =
    "case \"$1\" in -schedd) cat schedds.json ;; -negotiator) cat negotiators.json ;; *) cat machines.json ;; esac";
const SETTINGS: &str =
    "case \"$1\" in -negotiator) cat negotiator.txt ;; -schedd) cat schedd.txt ;; *) cat host.txt ;; esac";
const PING: &str = "[ ! -f denied ]";
const PRIORITIES: &str = r#"
if [ "$1" != -setfactor ]; then cat users.txt; exit; fi
if [ -f denied ]; then cat denied >&2; exit 1; fi
printf '%s %s\n' "$2" "$3" >>writes.txt
[ ! -f ignores_writes ] || exit 0
NAME=$2 FACTOR=$3 awk '
  BEGIN {
    name = ENVIRON["NAME"]
    gsub(/["\\]/, "\\\\&", name)
    key = "\"" name "\", "
    line = key "false, " ENVIRON["FACTOR"] ".0, " ENVIRON["FACTOR"] / 2
  }
  index($0, key) == 1 { print line; found = 1; next }
  { print }
  END { if (!found) print line }
' users.txt >users.new
mv users.new users.txt
echo "The priority factor of $2 was set to $3.000000""#;

/// A pool of stand-ins, and a server with a group for it.
pub struct StandInPool {
    folder: TempDir,
    server: Server,
    key: String,
    _db: TestDb,
}

/// Moves the times of a recorded text.
fn moved(text: &str, seconds: i64) -> String {
    let (mut moved, mut rest) = (String::new(), text);
    while let Some(at) = rest.find(TIME_PREFIX) {
        let (before, time) = (&rest[..at], &rest[at..at + TIME_DIGITS]);
        moved += before;
        moved += &(time.parse::<i64>().unwrap() + seconds).to_string();
        rest = &rest[at + TIME_DIGITS..];
    }
    moved + rest
}

impl StandInPool {
    pub fn start() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let db = sqlite_unmigrated();
        run(&db, ["migrate", "up"]).ok();
        let key = run(&db, ["keys", "create", "--role", "admin", "--label", "condor"]).ok().trim_end().to_owned();
        run(&db, ["groups", "create", "vm.rig.example"]).ok();
        let pool = Self { folder, server: Server::over(&db.url), key, _db: db };
        let seconds = SystemClock.now().micros() / 1_000_000 - RECORDED_AT;
        for (name, text) in [
            ("queue.json", recorded::QUEUE),
            ("history.json", recorded::HISTORY),
            ("epochs.json", recorded::EPOCHS),
            ("machines.json", recorded::MACHINES),
            ("users.txt", recorded::USERS),
            ("negotiator.txt", recorded::NEGOTIATOR),
            ("negotiators.json", recorded::NEGOTIATORS),
            ("schedds.json", recorded::SCHEDDS),
            ("schedd.txt", recorded::SCHEDD),
            ("host.txt", recorded::HOST),
        ] {
            pool.write(name, &moved(text, seconds));
        }
        for (name, script) in [
            ("condor_q", QUEUE),
            ("condor_history", HISTORY),
            ("condor_status", STATUS),
            ("condor_config_val", SETTINGS),
            ("condor_ping", PING),
            ("condor_userprio", PRIORITIES),
        ] {
            pool.write_program(name, script);
        }
        pool
    }

    /// Puts another script in place of a program.
    pub fn write_program(&self, name: &str, script: &str) {
        let path = self.path(name);
        std::fs::write(&path, format!("#!/bin/sh\ncd '{}'\n{script}\n", self.folder.path().display())).unwrap();
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o755)).unwrap();
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub fn read(&self, name: &str) -> String {
        std::fs::read_to_string(self.path(name)).unwrap_or_default()
    }

    pub fn write(&self, name: &str, text: &str) {
        std::fs::write(self.path(name), text).unwrap();
    }

    /// Replaces a part of a file, which has to be there.
    #[track_caller]
    pub fn replace(&self, name: &str, from: &str, to: &str) {
        let text = self.read(name);
        assert!(text.contains(from), "{name} has no {from:?}");
        self.write(name, &text.replace(from, to));
    }

    pub fn state_dir(&self) -> PathBuf {
        self.path("state")
    }

    /// A command that asks the server.
    pub fn ask(&self, args: &[&str]) -> Ended {
        end(program().env("FAIRSHARED_SERVER", &self.server.address).env("FAIRSHARED_KEY", &self.key).args(args))
    }

    /// The connector with more keys of `[htcondor]`.
    pub fn connector(&self, keys: &str, args: &[&str]) -> Command {
        self.connector_to(&self.server.address, keys, args)
    }

    /// The connector of another server.
    pub fn connector_to(&self, server: &str, keys: &str, args: &[&str]) -> Command {
        let file = self.path("f.toml");
        let (state, key) = (self.state_dir().display().to_string(), &self.key);
        let text = format!(
            "server = {server:?}\nkey = {key:?}\nlog = \"off\"\n[htcondor]\nstate_dir = {state:?}\n\
             writes_per_second = 1000\n{keys}\n"
        );
        std::fs::write(&file, text).unwrap();
        let path = format!("{}:/usr/bin:/bin", self.folder.path().display());
        let mut command = program();
        command.env("PATH", path).args(["connect", "htcondor", "--config"]).arg(Path::new(&file)).args(args);
        command
    }

    /// The outcome of one round without a fault.
    #[track_caller]
    pub fn round(&self, keys: &str) -> Value {
        end(&mut self.connector(keys, &["--once", "-o", "json"])).json()
    }

    /// The outcome of one round that fails, and the codes of its faults.
    #[track_caller]
    pub fn failed_round(&self, keys: &str) -> (Value, Vec<String>) {
        failed_outcome(self.connector(keys, &["--once", "-o", "json"]))
    }
}

/// The report of `--check`, and the names of the checks that failed, with their levels.
pub fn check_outcome(mut command: Command) -> (Value, Vec<String>) {
    let ended = end(&mut command);
    let report: Value = serde_json::from_str(&ended.stdout).unwrap();
    assert_eq!(ended.code, Some(i32::from(report["ok"] == false)), "{report:#}");
    let failed = report["checks"].as_array().unwrap().iter().filter(|check| check["ok"] == false);
    let names = failed.map(|check| format!("{} {}", check["level"].as_str().unwrap(), check["name"].as_str().unwrap()));
    let names = names.collect();
    (report, names)
}

/// The outcome of a command that fails, and the codes of its faults.
#[track_caller]
pub fn failed_outcome(mut command: Command) -> (Value, Vec<String>) {
    let ended = end(&mut command);
    assert_eq!(ended.code, Some(1), "{ended:?}");
    let outcome: Value = serde_json::from_str(&ended.stdout).unwrap();
    let errors = outcome["errors"].as_array().unwrap().iter();
    let codes = errors.map(|error| error["code"].as_str().unwrap().to_owned()).collect();
    (outcome, codes)
}
