//! Memory of the real program: a server with many users and kernels, and an import of files of two lengths.
//! The floor is the same program with nothing to do.

#[allow(dead_code, reason = "every bench uses a part")]
mod common;
#[allow(dead_code, unused_imports, unused_macros, reason = "every bench uses a part")]
#[path = "../tests/it/support/mod.rs"]
mod support;

use std::fmt::Write as _;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use common::{block_on, memory_row, world};
use fairshared::service::Clock;
use support::database::{self, TestDb};
use support::fixture::GROUP;

const USERS: usize = 10_000;
const KERNELS: usize = 10_000;
/// Rows of the shorter file; the longer has four times as many.
const ROWS: usize = 200_000;

fn main() {
    block_on(async {
        serving(database::sqlite().await).await;
        importing().await;
    });
}

async fn serving(db: TestDb) {
    let url = db.url.clone();
    let idle = Server::start(&url).peak();
    let key = program(&url).args(["keys", "create", "--role", "admin", "--label", "bench"]).output().unwrap();
    let key = String::from_utf8(key.stdout).unwrap();
    let server = Server::start(&url);
    let client = reqwest::Client::new();
    let send = async |request: reqwest::RequestBuilder| {
        let answer = request.bearer_auth(key.trim()).send().await.unwrap();
        assert!(answer.status().is_success(), "{}", answer.text().await.unwrap());
    };
    let base = &server.address;
    let group = format!("{base}/resource-groups/{GROUP}");
    send(client.put(&group).json(&serde_json::json!({}))).await;
    // The server's clock is the machine's: kernels that started in the bench's own time would have run for ages.
    let lines = world::running_since(KERNELS, USERS, fairshared::service::SystemClock.now());
    let ingest = client.post(format!("{group}/kernels")).header("content-type", "application/x-ndjson");
    send(ingest.body(lines)).await;
    for _ in 0..3 {
        send(client.post(format!("{base}/jobs/aggregate/run"))).await;
        send(client.get(format!("{group}/fair-share-status?limit=1000"))).await;
    }
    let name = format!("server: {USERS} users, {KERNELS} running kernels, SQLite");
    memory_row(&format!("{name}, peak"), server.peak(), idle, None);
    // Buffers go back to the system when nothing has happened for a while.
    tokio::time::sleep(std::time::Duration::from_secs(15)).await;
    memory_row(&name, server.resident(), idle, Some(100.0));
}

async fn importing() {
    let folder = tempfile::tempdir().unwrap();
    let mut peaks = Vec::new();
    for rows in [ROWS, 4 * ROWS] {
        let file = folder.path().join(format!("{rows}.csv"));
        std::fs::write(&file, table(rows)).unwrap();
        let db = database::sqlite().await;
        peaks.push((rows, import(&db.url, &file)));
    }
    let [(short, floor), (long, peak)] = peaks[..] else { unreachable!() };
    memory_row(&format!("import: {long} rows against {short} rows, SQLite"), peak, floor, None);
}

/// The neutral CSV: short jobs of many users over some weeks.
fn table(rows: usize) -> String {
    let mut text = String::from("job_id,user,project,start_time,end_time,cpu\n");
    for row in 0..rows {
        let (day, hour) = (1 + row * 28 / rows, row % 23);
        let (user, project) = (row % 500, row % 50);
        let _ = writeln!(
            text,
            "{row},user-{user},project-{project},2026-02-{day:02}T{hour:02}:00:00Z,2026-02-{day:02}T{hour:02}:59:00Z,{}",
            1 + row % 32
        );
    }
    text
}

fn program(url: &str) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_fairshared"));
    command.env_clear().env("FAIRSHARED_DATABASE_URL", url).stdin(Stdio::null());
    command
}

/// The largest resident size of an import, in MiB.
fn import(url: &str, file: &Path) -> f64 {
    let mut child =
        program(url).args(["import", "csv"]).arg(file).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    let mut peak = 0.0;
    while child.try_wait().unwrap().is_none() {
        peak = peak_of(&child).unwrap_or(peak);
        std::thread::yield_now();
    }
    peak
}

struct Server {
    child: Child,
    address: String,
}

impl Server {
    fn start(url: &str) -> Self {
        let mut command = program(url);
        command.args(["serve", "--listen", "127.0.0.1:0"]).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child = command.spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        Self { child, address: line.trim_end().trim_start_matches("listening on ").to_owned() }
    }

    fn peak(&self) -> f64 {
        peak_of(&self.child).unwrap()
    }

    fn resident(&self) -> f64 {
        size_of(&self.child, "VmRSS:").unwrap()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The largest resident size so far, in MiB.
fn peak_of(child: &Child) -> Option<f64> {
    size_of(child, "VmHWM:")
}

fn size_of(child: &Child, what: &str) -> Option<f64> {
    let status = std::fs::read_to_string(format!("/proc/{}/status", child.id())).ok()?;
    let line = status.lines().find_map(|l| l.strip_prefix(what))?;
    let kib: f64 = line.trim().trim_end_matches("kB").trim().parse().ok()?;
    Some(kib / 1024.0)
}
