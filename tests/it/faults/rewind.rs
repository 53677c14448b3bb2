//! Failovers that lose transactions: servers that have seen the lost transactions continue over a database without them, to
//! which others have meanwhile written as many.

use std::process::Command;
use std::time::{Duration, Instant};

use reqwest::Method;
use serde_json::{Value, json};

use super::support::{Log, start};
use crate::cli::program::{Server, end, over};
use crate::support::fixture::id;
use crate::support::postgres::Cluster;

const GROUP: &str = "/resource-groups/gpu";
/// The longest wait for any condition.
const DEADLINE: Duration = Duration::from_mins(1);

/// The kinds of writes that are lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Weights,
    Options,
    People,
    Keys,
    Queues,
    Kernels,
}

const KINDS: [Kind; 6] = [Kind::Weights, Kind::Options, Kind::People, Kind::Keys, Kind::Queues, Kind::Kernels];

/// One of several writes of a kind: one that is lost, or one that others make in its place.
#[derive(Clone, Debug)]
struct Write {
    kind: Kind,
    is_lost: bool,
    trial: usize,
    number: usize,
    /// The key that the write has made.
    key: Option<String>,
}

impl Write {
    fn name(&self) -> String {
        format!("{}-{}-{}", if self.is_lost { "lost" } else { "new" }, self.trial, self.number)
    }

    /// A value that differs between all writes and trials.
    fn value(&self) -> usize {
        20 + 10 * self.trial + self.number
    }

    /// A user that the group knows.
    fn user(&self) -> String {
        format!("user-{}-{}", self.is_lost, self.number)
    }
}

/// Two servers over one database, and what they have to answer.
struct Scene {
    cluster: Cluster,
    http: reqwest::Client,
    key: String,
    servers: Vec<(Server, Log)>,
    trials: usize,
}

/// A kernel that has ended.
fn kernel(name: &str, user: &str) -> Value {
    json!([{
        "kernel_id": id(name), "session_id": id(name), "user_uuid": id(user), "project_id": id("ml"),
        "domain_name": "research", "occupied_slots": {"cpu": "2"}, "status": "TERMINATED",
        "started_at": "2026-11-01T10:00:00Z", "terminated_at": "2026-11-01T11:00:00Z",
    }])
}

impl Scene {
    async fn new(name: &str) -> Self {
        let cluster = Cluster::new(name, &[]);
        let url = cluster.url("postgres");
        end(over(&url).args(["migrate", "up"])).ok();
        let key = end(over(&url).args(["keys", "create", "--role", "admin", "--label", "test"])).ok();
        let started = || {
            let log = Log::new();
            (start(&url, &log), log)
        };
        let servers = vec![started(), started()];
        let scene = Self { cluster, http: reqwest::Client::new(), key: key.trim_end().to_owned(), servers, trials: 0 };
        let opts = json!({"lookback_days": 3650, "slice_interval_seconds": 86_400});
        scene
            .insist(scene.first(), Method::PUT, GROUP, &json!({"scheduler": "fairshare", "scheduler_opts": opts}))
            .await;
        let agent = json!({"available_slots": {"cpu": 64}});
        scene.insist(scene.first(), Method::PUT, &format!("{GROUP}/agents/n"), &agent).await;
        for user in ["user-true-0", "user-true-1", "user-true-2", "user-false-0", "user-false-1", "user-false-2"] {
            scene.insist(scene.first(), Method::POST, &format!("{GROUP}/kernels"), &kernel(user, user)).await;
        }
        scene.run_job(scene.first()).await;
        scene.until_all_show_what_is_stored().await;
        scene
    }

    fn first(&self) -> &str {
        &self.servers[0].0.address
    }

    async fn call_as(&self, key: &str, server: &str, method: Method, path: &str, body: &Value) -> (u16, Value) {
        let request = self.http.request(method, format!("{server}{path}")).bearer_auth(key).json(body);
        let answer = request.send().await.unwrap_or_else(|e| panic!("{path}: {e}"));
        (answer.status().as_u16(), answer.json().await.unwrap_or_default())
    }

    async fn get(&self, server: &str, path: &str) -> (u16, Value) {
        self.call_as(&self.key, server, Method::GET, path, &Value::Null).await
    }

    /// Sends a refused request again until it succeeds.
    async fn insist(&self, server: &str, method: Method, path: &str, body: &Value) -> Value {
        let begun = Instant::now();
        loop {
            let (status, answer) = self.call_as(&self.key, server, method.clone(), path, body).await;
            if status < 300 {
                return answer;
            }
            assert!(matches!(status, 503 | 409) && begun.elapsed() < DEADLINE, "{path}: {status} {answer}");
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }

    async fn run_job(&self, server: &str) {
        let ran = self.insist(server, Method::POST, "/jobs/aggregate/run", &json!({"resource_group": "gpu"})).await;
        assert_eq!(ran["items"][0]["status"], "succeeded", "{ran}");
    }

    /// Makes the write, which must be acknowledged.
    async fn make(&self, server: &str, write: &mut Write) {
        let (name, value) = (write.name(), write.value());
        let (method, path, body) = match write.kind {
            Kind::Weights => {
                let item = json!({"target_type": "user", "target_id": id(&write.user()), "weight": value.to_string()});
                (Method::PUT, format!("{GROUP}/fair-share-weights"), json!({"items": [item]}))
            }
            Kind::Options => {
                let option = if write.is_lost { "half_life_days" } else { "lookback_days" };
                (Method::PATCH, format!("{GROUP}/scheduler-options"), json!({"scheduler_opts": {option: value}}))
            }
            Kind::People => (Method::PUT, format!("/users/{}", id(&write.user())), json!({"display_name": name})),
            Kind::Keys => (Method::POST, "/keys".to_owned(), json!({"role": "admin", "label": name})),
            Kind::Queues => (Method::PUT, format!("{GROUP}/queues/{name}"), json!({"priority": 1})),
            Kind::Kernels => (Method::POST, format!("{GROUP}/kernels"), kernel(&name, &write.user())),
        };
        let answer = self.insist(server, method, &path, &body).await;
        write.key = answer["key"].as_str().map(str::to_owned);
    }

    /// Returns true if the server shows the write.
    async fn shows(&self, server: &str, write: &Write) -> bool {
        let (name, value) = (write.name(), write.value());
        match write.kind {
            Kind::Weights => {
                let (_, answer) = self.get(server, &format!("{GROUP}/fair-share-weights")).await;
                let (target, weight) = (json!(id(&write.user())), json!(value.to_string()));
                let mut items = answer["items"].as_array().unwrap().iter();
                items.any(|item| item["target_id"] == target && item["weight"] == weight)
            }
            Kind::Options => {
                let option = if write.is_lost { "half_life_days" } else { "lookback_days" };
                let (_, answer) = self.get(server, &format!("{GROUP}/scheduler-options")).await;
                answer["scheduler_opts"][option] == json!(value)
            }
            Kind::People => {
                let (_, answer) = self.get(server, &format!("/users/{}", id(&write.user()))).await;
                answer["display_name"] == json!(name)
            }
            Kind::Keys => {
                let key = write.key.as_deref().unwrap();
                self.call_as(key, server, Method::GET, "/whoami", &Value::Null).await.0 == 200
            }
            Kind::Queues => self.get(server, &format!("{GROUP}/queues/{name}")).await.0 == 200,
            Kind::Kernels => self.get(server, &format!("{GROUP}/kernels/{}", id(&name))).await.0 == 200,
        }
    }

    /// The answers that are the same for all servers over one database.
    async fn answers(&self, server: &str) -> Vec<(String, Value)> {
        let mut answers = Vec::new();
        for path in [
            GROUP.to_owned(),
            format!("{GROUP}/scheduler-options"),
            format!("{GROUP}/fair-share-weights"),
            format!("{GROUP}/fair-share-status?limit=1000"),
            format!("{GROUP}/queues?limit=1000"),
            format!("{GROUP}/kernels?limit=1000"),
            "/users?limit=1000".to_owned(),
            "/projects?limit=1000".to_owned(),
        ] {
            let (status, answer) = self.get(server, &path).await;
            assert!(matches!(status, 200 | 404 | 503), "{path}: {status} {answer}");
            let Value::Object(mut answer) = answer else { panic!("{path}: {answer}") };
            answer.remove("request_id");
            answers.push((path, json!([status, answer])));
        }
        answers
    }

    /// Polls until every server gives the answers of a server that has just started.
    async fn until_all_show_what_is_stored(&self) {
        let fresh = Server::over(&self.cluster.url("postgres"));
        for (server, _) in &self.servers {
            let begun = Instant::now();
            loop {
                let (stored, shown) = (self.answers(&fresh.address).await, self.answers(&server.address).await);
                if stored == shown {
                    break;
                }
                let different: Vec<_> = stored.iter().zip(&shown).filter(|(is, seen)| is != seen).collect();
                assert!(begun.elapsed() < DEADLINE, "{different:?}");
                tokio::time::sleep(Duration::from_millis(50)).await;
            }
        }
    }

    /// Replaces the data of the database by that of another one.
    fn swap(&self, other: Cluster) {
        other.stop();
        self.cluster.stop();
        std::fs::remove_dir_all(self.cluster.data()).unwrap();
        assert!(Command::new("cp").arg("-a").arg(other.data()).arg(self.cluster.data()).status().unwrap().success());
        self.cluster.start();
        drop(other);
    }

    /// A failover that loses the last `count` writes of a kind. While the servers are cut off, the same number of other
    /// writes is made.
    async fn lose(&mut self, kind: Kind, count: usize, promoted: bool) {
        self.trials += 1;
        let trial = self.trials;
        let writes = |is_lost| (0..count).map(move |number| Write { kind, is_lost, trial, number, key: None });
        let (mut lost, mut new): (Vec<_>, Vec<_>) = (writes(true).collect(), writes(false).collect());
        self.cluster.stop();
        // It has everything up to here, and nothing that comes.
        let standby = Cluster::behind(&format!("standby-{trial}"), &self.cluster.data(), promoted);
        self.cluster.start();
        for (number, write) in lost.iter_mut().enumerate() {
            self.make(&self.servers[number % 2].0.address, write).await;
        }
        for (server, _) in &self.servers {
            let begun = Instant::now();
            while !self.shows(&server.address, lost.last().unwrap()).await {
                assert!(begun.elapsed() < DEADLINE, "{kind:?}: not seen by all");
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
        }
        if promoted {
            standby.execute("SELECT pg_promote()").await;
        }
        let other = Server::over(&standby.url("postgres"));
        for write in &mut new {
            self.make(&other.address, write).await;
        }
        other.kill();
        self.swap(standby);
        self.check(kind, &lost, &new).await;
    }

    async fn check(&self, kind: Kind, lost: &[Write], new: &[Write]) {
        self.until_all_show_what_is_stored().await;
        for (server, _) in &self.servers {
            for write in lost {
                let begun = Instant::now();
                while self.shows(&server.address, write).await {
                    assert!(begun.elapsed() < DEADLINE, "{write:?} is gone, and is shown");
                    tokio::time::sleep(Duration::from_millis(20)).await;
                }
            }
        }
        // Later writes of the servers rest on what is stored, not on what they remember.
        for (number, (server, _)) in self.servers.iter().enumerate() {
            let mut later = Write { kind, is_lost: true, trial: self.trials, number: 5 + number, key: None };
            if matches!(kind, Kind::Weights | Kind::People) {
                later.number = number;
                later.trial += 500;
            }
            self.make(&server.address, &mut later).await;
            self.run_job(&server.address).await;
        }
        self.until_all_show_what_is_stored().await;
        for (server, log) in &self.servers {
            for write in new {
                // An option has one value.
                let is_shown = kind == Kind::Options && write.number + 1 < new.len();
                assert!(is_shown || self.shows(&server.address, write).await, "{write:?} was written over");
            }
            let audit = self.get(&server.address, &format!("{GROUP}/audit")).await.1;
            assert_eq!(audit["ok"], true, "{kind:?}: {audit}");
            if kind != Kind::Keys {
                log.until_says(&["WARN", "history_rewound", "the database has gone back"]).await;
                let ready = self.get(&server.address, "/readyz").await.1;
                let mut reasons = ready["reasons"].as_array().unwrap().iter();
                let reason = reasons.find(|reason| reason["code"] == "history_rewound").unwrap();
                assert!(reason["detail"].as_str().unwrap().contains("what was written after 20"), "{ready}");
            }
            assert!(log.lines_with("the database has gone back") <= self.trials, "logged more than once");
            assert_eq!(log.lines_with(" ERROR "), 0, "{kind:?}");
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn failovers_that_lose_the_last_writes() {
    let mut scene = Scene::new("rewind").await;
    scene.lose(Kind::Weights, 1, false).await;
    scene.lose(Kind::People, 2, true).await;
    scene.lose(Kind::Kernels, 1, false).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "long"]
async fn long_failovers_that_lose_the_last_writes() {
    let mut scene = Scene::new("long-rewind").await;
    for (number, kind) in KINDS.into_iter().enumerate() {
        for count in 1..=3 {
            for promoted in [false, true] {
                let begun = Instant::now();
                scene.lose(kind, count, promoted).await;
                println!("{kind:?} {number}: {count} lost, promoted {promoted}: {:?}", begun.elapsed());
            }
        }
    }
}
