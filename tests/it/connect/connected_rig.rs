//! A real Slurm with a server that has a group for it, and the connector between them.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::process::{Command, Stdio};

use fairshared::domain::time::Timestamp;
use serde_json::{Value, json};

use super::slurm_rig::{self, RigForm, SlurmRig};
use crate::cli::program::{Ended, Server, end, fed, over, program, run};
use crate::support::database::{TestDb, sqlite_unmigrated};

/// A run of a job.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct JobRun {
    pub start: i64,
    /// `None` while it runs.
    pub end: Option<i64>,
    pub cpus: String,
}

/// A Slurm and a server with a group for it.
pub struct ConnectedRig {
    pub rig: SlurmRig,
    /// `None` while it is down.
    server: Option<Server>,
    address: String,
    key: String,
    /// The key of the connector.
    pub connector_key: String,
    db: TestDb,
}

impl ConnectedRig {
    /// A small rig with more lines of `slurm.conf`.
    pub fn start(lines: &str) -> Option<Self> {
        Self::start_as(RigForm::of_lines(lines))
    }

    pub fn start_as(form: RigForm) -> Option<Self> {
        let rig = slurm_rig::start(form)?;
        let db = sqlite_unmigrated();
        run(&db, ["migrate", "up"]).ok();
        let key = run(&db, ["keys", "create", "--role", "admin", "--label", "slurm"]).ok().trim_end().to_owned();
        run(&db, ["groups", "create", "rig"]).ok();
        let server = Server::over(&db.url);
        let address = server.address.clone();
        Some(Self { rig, server: Some(server), address, connector_key: key.clone(), key, db })
    }

    /// Ends the server by SIGKILL.
    pub fn kill_server(&mut self) {
        self.server.take().unwrap().kill();
    }

    /// Starts a server that was killed, at its address.
    pub fn start_server(&mut self) {
        let listen = self.address.strip_prefix("http://").unwrap();
        let mut command = over(&self.db.url);
        self.server = Some(Server::start(command.args(["serve", "--listen", listen]).stderr(Stdio::null())));
    }

    /// A command that asks the server.
    pub fn ask(&self, args: &[&str]) -> Ended {
        end(program().env("FAIRSHARED_SERVER", &self.address).env("FAIRSHARED_KEY", &self.key).args(args))
    }

    /// The connector with more keys of `[slurm]`.
    pub fn connector(&self, keys: &str, args: &[&str]) -> Command {
        self.connector_in("connector", keys, args)
    }

    /// The connector with a folder of its own.
    pub fn connector_in(&self, folder: &str, keys: &str, args: &[&str]) -> Command {
        let file: PathBuf = self.rig.folder().join(format!("{folder}.toml"));
        let state = self.rig.folder().join(folder).display().to_string();
        let (server, key) = (&self.address, &self.connector_key);
        let text =
            format!("server = {server:?}\nkey = {key:?}\nlog = \"off\"\n[slurm]\nstate_dir = {state:?}\n{keys}\n");
        std::fs::write(&file, text).unwrap();
        let mut command = program();
        let slurm = self.rig.command("true");
        command.envs(slurm.get_envs().filter_map(|(name, value)| Some((name, value?))));
        command.env("PATH", std::env::var_os("PATH").unwrap()).arg("connect").arg("slurm");
        command.arg("--config").arg(file).args(args);
        command
    }

    #[track_caller]
    pub fn round(&self, keys: &str, args: &[&str]) -> Value {
        let outcome = end(self.connector(keys, &["--once", "-o", "json"]).args(args)).json();
        assert_eq!(outcome["errors"], json!([]), "{outcome}");
        outcome
    }

    /// The order of the server for what Slurm lists, with Slurm's own order among the jobs of one owner.
    pub fn sequence(&self) -> Vec<u64> {
        let mut owners = BTreeMap::new();
        let jobs = self.rig.slurm("squeue", &["-h", "-a", "-t", "PD", "-o", "%A %u %a %V"]);
        for line in jobs.lines() {
            let words: Vec<&str> = line.split(' ').collect();
            owners.insert(
                words[0].to_owned(),
                (words[1].to_owned(), words[2].to_owned(), words[3].parse::<i64>().unwrap()),
            );
        }
        let shown = self.rig.slurm("sprio", &["-h", "-o", "%i %Y %S %A %Q %N"]);
        let workload = |line: &str| {
            let id = line.split_whitespace().next().unwrap();
            let (user, project, submitted) = &owners[id];
            let numbers: Vec<i64> = line.split_whitespace().map(|word| word.parse().unwrap()).collect();
            let [_, priority, site, age, qos, nice] = numbers[..] else { panic!("{line}") };
            // Slurm shows at least 1.
            let own = if priority > 1 { priority - site } else { age + qos - nice };
            json!({
                "workload_id": id, "user": user, "project": project, "priority": own,
                "submitted_at": Timestamp::from_seconds(*submitted)
            })
        };
        let workloads: Vec<Value> = shown.lines().map(workload).collect();
        let id_of = |workload: &Value| workload["workload_id"].as_str().unwrap().to_owned();
        let mut own_order: Vec<(i64, i64, u64)> = Vec::new();
        for workload in &workloads {
            let id = id_of(workload);
            own_order.push((-workload["priority"].as_i64().unwrap(), owners[&id].2, id.parse().unwrap()));
        }
        own_order.sort_unstable();
        let mut command = program();
        command.env("FAIRSHARED_SERVER", &self.address).env("FAIRSHARED_KEY", &self.key);
        command.args(["sequence", "rig", "-", "-o", "json"]);
        let answer = fed(&mut command, json!({"workloads": workloads}).to_string().as_bytes()).json();
        // The places of an owner have its jobs in Slurm's own order.
        let owner = |id: &str| (&owners[id].0, &owners[id].1);
        let take_next = |item: &Value| {
            let next = own_order.iter().position(|(_, _, id)| owner(&id.to_string()) == owner(&id_of(item))).unwrap();
            own_order.remove(next).2
        };
        answer["items"].as_array().unwrap().iter().map(take_next).collect()
    }

    pub fn order(&self) -> Vec<u64> {
        self.rig.order().into_iter().map(|(id, _)| id).collect()
    }

    pub fn sites(&self) -> BTreeSet<i64> {
        self.rig.order().into_iter().map(|(_, site)| site).collect()
    }

    /// The runs of the accounting, sorted.
    pub fn runs_of_sacct(&self) -> Vec<JobRun> {
        let args =
            ["-a", "-X", "-D", "-n", "-P", "-s", "R,S", "-S", "now-3hours", "-E", "now", "-o", "Start,End,AllocCPUS"];
        let text = self.rig.slurm("sacct", &args);
        let run = |line: &str| {
            let fields: Vec<&str> = line.split('|').collect();
            JobRun { start: fields[0].parse().unwrap(), end: fields[1].parse().ok(), cpus: fields[2].to_owned() }
        };
        let mut runs: Vec<JobRun> = text.lines().map(run).collect();
        runs.sort_unstable();
        runs
    }

    /// The kernels of the server as runs, sorted.
    pub fn runs_of_server(&self) -> Vec<JobRun> {
        let listed = self.ask(&["kernels", "list", "rig", "-o", "json", "--limit", "100000"]).json();
        let seconds = |time: &Value| Some(time.as_str()?.parse::<Timestamp>().unwrap().micros() / 1_000_000);
        let run = |kernel: &Value| JobRun {
            start: seconds(&kernel["started_at"]).unwrap(),
            end: seconds(&kernel["terminated_at"]),
            cpus: kernel["occupied_slots"]["cpu"].as_str().unwrap().to_owned(),
        };
        let mut runs: Vec<JobRun> = listed["items"].as_array().unwrap().iter().map(run).collect();
        runs.sort_unstable();
        runs
    }
}
