//! A real server, a reporter that remembers acknowledged writes, and ways to take the server's disk space away.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use fairshared::domain::ids::KernelId;
use fairshared::store::{self, Store};
use reqwest::Method;
use serde_json::{Value, json};

use crate::cli::program::{Server, end, over};
use crate::support::fixture::{GROUP, id, kernel};
use crate::support::process_end::not_run;

/// The longest wait for any condition.
const DEADLINE: Duration = Duration::from_secs(30);

/// Polls until `holds`.
pub async fn until(what: &str, mut holds: impl AsyncFnMut() -> bool) {
    let begun = Instant::now();
    while !holds().await {
        assert!(begun.elapsed() < DEADLINE, "{what} did not happen");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

/// The log of all servers that a test starts.
pub struct Log(tempfile::NamedTempFile);

impl Log {
    pub fn new() -> Self {
        Self(tempfile::NamedTempFile::new().unwrap())
    }

    /// The number of lines that contain `part`.
    pub fn lines_with(&self, part: &str) -> usize {
        std::fs::read_to_string(self.0.path()).unwrap().lines().filter(|line| line.contains(part)).count()
    }

    /// Waits for a line that has all these parts.
    pub async fn until_says(&self, parts: &[&str]) {
        until(&format!("a line in the log with {parts:?}"), async || {
            let log = std::fs::read_to_string(self.0.path()).unwrap();
            log.lines().any(|line| parts.iter().all(|part| line.contains(part)))
        })
        .await;
    }
}

/// Starts a server with a limit on file sizes. It ignores the signal that would otherwise end it before a write can fail.
pub fn start(url: &str, log: &Log) -> Server {
    let mut command = Command::new("sh");
    command.args(["-c", "trap '' XFSZ; exec \"$0\" \"$@\"", env!("CARGO_BIN_EXE_fairshared")]);
    command.args(["serve", "--listen", "127.0.0.1:0"]);
    command.env_clear().env("PATH", std::env::var_os("PATH").unwrap_or_default()).env("FAIRSHARED_DATABASE_URL", url);
    let log = std::fs::File::options().append(true).open(log.0.path()).unwrap();
    Server::start(command.stdin(Stdio::null()).stderr(log))
}

pub fn sqlite_url(file: &Path) -> String {
    format!("sqlite://{}", file.display())
}

/// The answer to a request.
#[derive(Debug)]
pub struct Answer {
    pub status: u16,
    pub retry_after: Option<String>,
    pub body: Value,
}

/// A scheduler that reports kernels, one in each request.
pub struct Reporter {
    http: reqwest::Client,
    key: String,
    pub url: String,
    pub log: Log,
    /// Kernels whose report was answered with 200.
    pub acknowledged: Vec<String>,
    next: u32,
}

impl Reporter {
    /// Makes the database at `url`, and a key.
    pub fn new(url: String) -> Self {
        end(over(&url).args(["migrate", "up"])).ok();
        let key = end(over(&url).args(["keys", "create", "--role", "admin", "--label", "test"])).ok();
        let (http, key, log) = (reqwest::Client::new(), key.trim_end().to_owned(), Log::new());
        Self { http, key, url, log, acknowledged: Vec::new(), next: 0 }
    }

    pub fn key(&self) -> &str {
        &self.key
    }

    pub async fn call(&self, server: &Server, method: Method, path: &str, body: &Value) -> Answer {
        let request = self.http.request(method, format!("{}{path}", server.address)).bearer_auth(&self.key);
        let answer = request.json(body).send().await.unwrap_or_else(|e| panic!("{path}: {e}"));
        let retry_after = answer.headers().get("retry-after").map(|v| v.to_str().unwrap().to_owned());
        let status = answer.status().as_u16();
        Answer { status, retry_after, body: answer.json().await.unwrap_or_default() }
    }

    pub async fn make_group(&self, server: &Server) {
        let body = json!({"scheduler": "fairshare"});
        assert_eq!(self.call(server, Method::PUT, &format!("/resource-groups/{GROUP}"), &body).await.status, 201);
    }

    /// Reports the kernel `name`, and notes it if the report was acknowledged.
    pub async fn report(&mut self, server: &Server, name: &str) -> Answer {
        let path = format!("/resource-groups/{GROUP}/kernels");
        let body = json!([kernel(name, name, "ml", "2026-01-13T09:00:00Z")]);
        let answer = self.call(server, Method::POST, &path, &body).await;
        if answer.status == 200 {
            assert_eq!(answer.body["accepted"], 1, "{answer:?}");
            self.acknowledged.push(name.to_owned());
        }
        answer
    }

    /// Reports a new kernel.
    pub async fn report_another(&mut self, server: &Server) -> (String, Answer) {
        self.next += 1;
        let name = format!("k{}", self.next);
        let answer = self.report(server, &name).await;
        (name, answer)
    }

    pub async fn report_some(&mut self, server: &Server, count: usize) {
        for _ in 0..count {
            let (_, answer) = self.report_another(server).await;
            assert_eq!(answer.status, 200, "{answer:?}");
        }
    }

    /// Reports kernels until a report is refused. Returns the name of the refused kernel.
    pub async fn report_until_refused(&mut self, server: &Server) -> (String, Answer) {
        for _ in 0..500 {
            let (name, answer) = self.report_another(server).await;
            if answer.status != 200 {
                return (name, answer);
            }
        }
        panic!("500 reports were taken")
    }

    /// Order and ranking come from memory.
    pub async fn assert_answers(&self, server: &Server) {
        let body = json!({"workloads": [{"workload_id": "w", "user_uuid": id("u"), "project_id": id("ml")}]});
        let begun = Instant::now();
        let order = self.call(server, Method::POST, &format!("/resource-groups/{GROUP}/sequence"), &body).await;
        assert_eq!((order.status, order.body["items"].as_array().map(Vec::len)), (200, Some(1)), "{order:?}");
        let path = format!("/resource-groups/{GROUP}/fair-share-status");
        assert_eq!(self.call(server, Method::GET, &path, &Value::Null).await.status, 200);
        assert!(begun.elapsed() < Duration::from_secs(2));
    }

    pub async fn until_ready_says(&self, server: &Server, code: &str, says: bool) {
        until(&format!("/readyz: {code} {says}"), async || {
            let ready = self.call(server, Method::GET, "/readyz", &Value::Null).await;
            ready.body["reasons"].as_array().is_some_and(|r| r.iter().any(|reason| reason["code"] == code)) == says
        })
        .await;
    }

    /// The acknowledged writes that are not in that database, as another process reads it.
    pub async fn lost_in(&self, url: &str) -> Vec<&String> {
        let store = Store::connect(url).await.unwrap();
        let mut lost = Vec::new();
        // A copy that was made while the file was written may be torn.
        let Ok(Some(group)) = store::groups::find(store.read(), GROUP).await else {
            return self.acknowledged.iter().collect();
        };
        for name in &self.acknowledged {
            let found = store::kernels::find(store.read(), group.key, KernelId(id(name))).await;
            if !matches!(found, Ok(Some(_))) {
                lost.push(name);
            }
        }
        store.close().await.unwrap();
        lost
    }

    /// Fails unless all acknowledged reports are in the file, and the audit finds no fault.
    pub async fn assert_stored(&self) {
        let lost = self.lost_in(&self.url).await;
        assert!(lost.is_empty(), "lost of {}: {lost:?}", self.acknowledged.len());
        assert!(end(over(&self.url).arg("audit")).ok().contains("true"));
    }
}

/// Disk space that can be taken away.
pub trait Space {
    fn folder(&self) -> &Path;
    /// Leaves hardly any space for writes.
    fn take(&self, server: &Server);
    fn give_back(&self, server: &Server);
}

/// A limit on the size of each file that the server writes.
pub struct Limit(pub tempfile::TempDir);

impl Space for Limit {
    fn folder(&self) -> &Path {
        self.0.path()
    }

    fn take(&self, server: &Server) {
        const ROOM: u64 = 24 << 10;
        let sizes = std::fs::read_dir(self.folder()).unwrap().map(|entry| entry.unwrap().metadata().unwrap().len());
        limit_files(server, Some(sizes.max().unwrap() + ROOM));
    }

    fn give_back(&self, server: &Server) {
        limit_files(server, None);
    }
}

fn limit_files(server: &Server, bytes: Option<u64>) {
    use rustix::process::{Pid, Resource, Rlimit, prlimit};
    let pid = Pid::from_raw(server.id().cast_signed()).unwrap();
    prlimit(Some(pid), Resource::Fsize, Rlimit { current: bytes, maximum: None }).unwrap();
}

/// A file system in memory, several times larger than a test's database with its log.
pub struct Tmpfs {
    folder: tempfile::TempDir,
}

impl Tmpfs {
    /// `None` where mounting is not allowed.
    pub fn mount() -> Option<Self> {
        let folder = tempfile::TempDir::new().unwrap();
        let mount = Command::new("mount").args(["-t", "tmpfs", "-o", "size=32m", "tmpfs"]).arg(folder.path()).output();
        if mount.is_ok_and(|output| output.status.success()) {
            return Some(Self { folder });
        }
        not_run("the test of a full file system (that of a limit of file sizes is)", "no tmpfs can be mounted here");
        None
    }

    fn ballast(&self) -> PathBuf {
        self.folder.path().join("ballast")
    }
}

impl Space for Tmpfs {
    fn folder(&self) -> &Path {
        self.folder.path()
    }

    fn take(&self, _: &Server) {
        use std::io::Write;
        let mut file = std::fs::File::create(self.ballast()).unwrap();
        while file.write_all(&[0; 4096]).is_ok() {}
    }

    fn give_back(&self, _: &Server) {
        std::fs::remove_file(self.ballast()).unwrap();
    }
}

impl Drop for Tmpfs {
    fn drop(&mut self) {
        // Lazily: a server that is about to die may have files open.
        let _ = Command::new("umount").arg("-l").arg(self.folder.path()).status();
    }
}
