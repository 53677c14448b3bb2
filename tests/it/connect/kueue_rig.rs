//! A stand-in for a cluster with Kueue, a real server with a group for it, and the connector between them, as a process or within the test.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::process::Command;
use std::sync::Arc;

use fairshared::cli::client::open_client;
use fairshared::cli::connect::run_lines::write_run;
use fairshared::config::Config;
use fairshared::connectors::api_server::ApiServer;
use fairshared::connectors::kueue::KueueConnector;
use fairshared::connectors::kueue::settings::KueueSettings;
use fairshared::connectors::outcome::RoundOutcome;
use fairshared::connectors::round::RoundRunner;
use fairshared::connectors::setting_values::ConnectorTable;
use fairshared::service::{Clock, SystemClock};
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::runtime::Runtime;

use super::kueue_objects::{ago, cluster_queue, flavor, local_queue, node, workload};
use super::kueue_stub::KueueStub;
use super::slurm_rig::wait_until;
use crate::cli::program::{Ended, Server, end, program, run};
use crate::support::ManualClock;
use crate::support::database::{TestDb, sqlite_unmigrated};

/// The keys that all tests have: users have a label, and requests have little time.
const KEYS: &str = "user_label = \"example.org/user\"\nwrites_per_second = 1000\ntimeout = \"1s\"";
/// The users with runs, in the order of their usage, the least first.
pub const USERS: [&str; 3] = ["alice", "bob", "carol"];

/// The connector within a test, which runs round after round.
pub struct RunningRounds {
    runtime: Runtime,
    runner: RoundRunner<KueueConnector, ApiServer>,
    clock: Arc<ManualClock>,
}

impl RunningRounds {
    /// The outcome of a round a minute after the one before, so that it reads the accounting.
    pub fn run(&mut self) -> RoundOutcome {
        self.clock.advance_seconds(60);
        self.runtime.block_on(self.runner.run())
    }

    /// The outcome of a round without a fault.
    #[track_caller]
    pub fn round(&mut self) -> RoundOutcome {
        let outcome = self.run();
        assert!(outcome.is_ok(), "{outcome:?}");
        outcome
    }
}

/// A stand-in for a cluster, and a server.
pub struct KueueRig {
    pub stub: KueueStub,
    pub folder: TempDir,
    server: Server,
    key: String,
    _db: TestDb,
}

impl KueueRig {
    /// A cluster with three namespaces, one queue, two nodes in a flavor, and no Workload.
    pub fn start() -> Self {
        let (stub, folder, db) = (KueueStub::start(), tempfile::tempdir().unwrap(), sqlite_unmigrated());
        run(&db, ["migrate", "up"]).ok();
        let key = run(&db, ["keys", "create", "--role", "admin", "--label", "kueue"]).ok().trim_end().to_owned();
        run(&db, ["groups", "create", "kubernetes"]).ok();
        std::fs::write(folder.path().join("kubeconfig"), stub.kubeconfig().to_string()).unwrap();
        let mut state = stub.state();
        for namespace in ["chem", "ocean", "physics"] {
            state.put("localqueues", local_queue(namespace, "gpus"));
        }
        state.put("clusterqueues", cluster_queue("gpus", "science"));
        state.put("resourceflavors", flavor("default", &json!({"pool": "gpu"})));
        for name in ["n1", "n2"] {
            state.put("nodes", node(name, &json!({"pool": "gpu"})));
        }
        state.put("nodes", node("control", &json!({"pool": "control"})));
        drop(state);
        Self { stub, folder, server: Server::over(&db.url), key, _db: db }
    }

    /// A cluster whose three users have run something, with the ranks that follow from it, and six Workloads that wait.
    pub fn ranked() -> Self {
        let rig = Self::start();
        for (user, hours) in USERS.iter().zip([1, 4, 16]) {
            let name = format!("physics/past-{user}");
            let mut state = rig.stub.state();
            state.put("workloads", workload(&name, user, hours * 3_600 + 60, 0));
            state.admit(&name, &ago(hours * 3_600));
            state.finish(&name, &ago(30));
        }
        rig.round("");
        rig.ask(&["jobs", "run", "aggregate", "--group", "kubernetes"]);
        wait_until("usage counts", || rig.ranks().len() == USERS.len());
        // The users with the most usage have submitted first.
        for (number, user) in ["carol", "carol", "bob", "bob", "alice", "alice"].into_iter().enumerate() {
            let name = format!("physics/w{number}");
            let seconds_ago = 600 - i64::try_from(number).unwrap();
            rig.stub.state().put("workloads", workload(&name, user, seconds_ago, 0));
        }
        rig.stub.state().requests.clear();
        rig
    }

    /// The Workloads without quota in the order in which Kueue looks at them.
    pub fn order(&self) -> Vec<String> {
        self.stub.state().order()
    }

    /// The boosts of all Workloads that have one, by name.
    pub fn boosts(&self) -> BTreeMap<String, String> {
        self.stub.state().boosts()
    }

    /// The number of patches since the requests were cleared.
    pub fn patches(&self) -> usize {
        self.stub.state().requests_of("PATCH").len()
    }

    /// The resource version of the last change.
    pub fn version(&self) -> u64 {
        self.stub.state().version
    }

    /// The ranks of the users with usage, by name.
    pub fn ranks(&self) -> Vec<(String, i64)> {
        let listed = self.ask(&["rank", "kubernetes", "-o", "json"]).json();
        let rank = |row: &Value| (row["user_name"].as_str().unwrap().to_owned(), row["rank"].as_i64().unwrap());
        listed["items"].as_array().unwrap().iter().map(rank).collect()
    }

    pub fn state_dir(&self) -> PathBuf {
        self.folder.path().join("state")
    }

    /// A command that asks the server.
    pub fn ask(&self, args: &[&str]) -> Ended {
        end(program().env("FAIRSHARED_SERVER", &self.server.address).env("FAIRSHARED_KEY", &self.key).args(args))
    }

    /// The keys of `[kueue]`.
    fn table(&self, keys: &str) -> String {
        let path = |path: PathBuf| path.display().to_string();
        let (kubeconfig, state) = (path(self.folder.path().join("kubeconfig")), path(self.state_dir()));
        // Later keys take the place of earlier ones.
        let mut table: toml::Table =
            format!("{KEYS}\nkubeconfig = {kubeconfig:?}\nstate_dir = {state:?}").parse().unwrap();
        table.extend(keys.parse::<toml::Table>().unwrap());
        table.to_string()
    }

    /// The connector as a process, with more keys of `[kueue]`.
    pub fn connector(&self, keys: &str, args: &[&str]) -> Command {
        self.connector_to(&self.server.address, keys, args)
    }

    /// The connector of another server.
    pub fn connector_to(&self, server: &str, keys: &str, args: &[&str]) -> Command {
        let file = self.folder.path().join("f.toml");
        let (key, table) = (&self.key, self.table(keys));
        let text = format!("server = {server:?}\nkey = {key:?}\nlog = \"off\"\n[kueue]\n{table}");
        std::fs::write(&file, text).unwrap();
        let mut command = program();
        command.args(["connect", "kueue", "--config"]).arg(file).args(args);
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
        super::condor_stand_ins::failed_outcome(self.connector(keys, &["--once", "-o", "json"]))
    }

    /// The settings of the connector, and the folder of its state.
    pub fn settings(&self, keys: &str) -> KueueSettings {
        let table = ConnectorTable { file: "f.toml".into(), values: self.table(keys).parse().unwrap() };
        std::fs::create_dir_all(self.state_dir()).unwrap();
        KueueSettings::read(Some(&table)).unwrap()
    }

    /// The connector within this process.
    pub fn running(&self, keys: &str) -> RunningRounds {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let settings = self.settings(keys);
        let mut config = Config::settle(&[], None, []).unwrap();
        config.server = Some(self.server.address.parse().unwrap());
        config.key = Some(self.key.clone());
        let clock = Arc::new(ManualClock::at(&ago(0)));
        let rounds = settings.common.rounds_of(settings.cluster_name(), settings.nodes, settings.setup);
        let runner = runtime.block_on(async {
            let server = ApiServer::new(open_client(&config).await.unwrap());
            let connector = KueueConnector::start(settings, write_run, Arc::new(SystemClock)).await.unwrap();
            RoundRunner::new(connector, server, Arc::clone(&clock) as Arc<dyn Clock>, rounds).unwrap()
        });
        RunningRounds { runtime, runner, clock }
    }

    /// The kernels of the server: session, start and end, in order.
    pub fn kernels(&self) -> Vec<(String, String, Option<String>)> {
        let listed = self.ask(&["kernels", "list", "kubernetes", "-o", "json"]).json();
        let text = |value: &Value| value.as_str().map(str::to_owned);
        let kernel = |kernel: &Value| {
            (text(&kernel["user_name"]).unwrap(), text(&kernel["started_at"]).unwrap(), text(&kernel["terminated_at"]))
        };
        let mut kernels: Vec<_> = listed["items"].as_array().unwrap().iter().map(kernel).collect();
        kernels.sort_unstable();
        kernels
    }

    /// The order of the server for the Workloads that wait.
    pub fn sequence(&self) -> Vec<String> {
        let state = self.stub.state();
        let workload = |key: &String| {
            let object = state.object("workloads", key);
            json!({
                "workload_id": key, "user": object["metadata"]["labels"]["example.org/user"],
                "project": object["metadata"]["namespace"], "submitted_at": object["metadata"]["creationTimestamp"]
            })
        };
        let workloads: Vec<Value> = state.order().iter().map(workload).collect();
        drop(state);
        let mut command = program();
        command.env("FAIRSHARED_SERVER", &self.server.address).env("FAIRSHARED_KEY", &self.key);
        command.args(["sequence", "kubernetes", "-", "-o", "json"]);
        let request = json!({"workloads": workloads}).to_string();
        let answer = crate::cli::program::fed(&mut command, request.as_bytes()).json();
        let ids = answer["items"].as_array().unwrap().iter();
        ids.map(|item| item["workload_id"].as_str().unwrap().to_owned()).collect()
    }
}
