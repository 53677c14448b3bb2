//! Temporary PostgreSQL clusters: one that all tests share, made at the first use and removed at the end of the
//! process, and clusters of single tests, which can be stopped and paused.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::sync::{Mutex, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use sea_orm::{ConnectOptions, ConnectionTrait, Database};

use super::packages::{self, is_root, run};
use super::process_end::scratch_folder;

/// A server with its data.
pub struct Cluster {
    folder: PathBuf,
    settings: &'static [&'static str],
    running: Mutex<Option<Running>>,
}

struct Running {
    pid: u32,
    ended: Receiver<()>,
}

pub fn url(database: &str) -> String {
    shared().url(database)
}

/// The folder of the socket of the shared cluster.
pub fn socket() -> PathBuf {
    shared().socket()
}

/// Executes an administrative statement. Only one runs at a time, because databases are cloned from a template that
/// must not be in use.
pub async fn execute(sql: &str) {
    static TURN: tokio::sync::Mutex<()> = tokio::sync::Mutex::const_new(());
    let _turn = TURN.lock().await;
    shared().execute(sql).await;
}

/// The lines about one database in the log of the shared cluster.
pub fn log(database: &str) -> Vec<String> {
    let log = std::fs::read_to_string(shared().folder.join("log")).unwrap();
    log.lines().filter_map(|line| line.strip_prefix(&format!("{database}: "))).map(str::to_owned).collect()
}

static SHARED: OnceLock<Cluster> = OnceLock::new();

fn shared() -> &'static Cluster {
    SHARED.get_or_init(|| {
        Cluster::at(scratch_folder().join("postgres"), &["max_connections=300", "shared_buffers=128MB"])
    })
}

/// Stops the shared cluster at once, because its data will not be read again. It is called at the end of the process,
/// when a thread cannot be put to sleep.
pub fn stop_shared() {
    let Some(Running { pid, ended }) = SHARED.get().and_then(|cluster| cluster.running().take()) else { return };
    signal("QUIT", &[pid]);
    let deadline = Instant::now() + Duration::from_secs(30);
    while ended.try_recv().is_err() && Instant::now() < deadline {
        std::thread::yield_now();
    }
}

/// The folder of a cluster besides the shared one.
fn own_folder(name: &str) -> PathBuf {
    scratch_folder().join(format!("own-{name}"))
}

impl Cluster {
    /// A new, running cluster; `name` is unique in this process.
    pub fn new(name: &str, settings: &'static [&'static str]) -> Self {
        Self::at(own_folder(name), settings)
    }

    /// A running cluster over a copy of the data folder that another one has left.
    #[allow(dead_code, reason = "benches call it")]
    pub fn over(name: &str, settings: &'static [&'static str], data: &Path) -> Self {
        let cluster = Self::stopped(own_folder(name), settings);
        run(Command::new("cp").arg("-a").arg(data).arg(cluster.data()));
        cluster.start();
        cluster
    }

    /// A running cluster over a copy of the data folder of a stopped one, as a standby of it or on its own.
    #[allow(dead_code, reason = "benches do not call it")]
    pub fn behind(name: &str, data: &Path, is_standby: bool) -> Self {
        let cluster = Self::stopped(own_folder(name), &[]);
        run(Command::new("cp").arg("-a").arg(data).arg(cluster.data()));
        if is_standby {
            std::fs::write(cluster.data().join("standby.signal"), "").unwrap();
        }
        cluster.start();
        cluster
    }

    fn stopped(folder: PathBuf, settings: &'static [&'static str]) -> Self {
        std::fs::create_dir_all(&folder).unwrap();
        if is_root() {
            run(Command::new("chown").arg("-R").arg("postgres:").arg(&folder));
        }
        Self { folder, settings, running: Mutex::default() }
    }

    fn at(folder: PathBuf, settings: &'static [&'static str]) -> Self {
        let cluster = Self::stopped(folder, settings);
        run(as_postgres(&binaries().join("initdb"))
            .args(["--no-sync", "--auth=trust", "--username=postgres", "--encoding=UTF8", "--locale=C"])
            .arg("-D")
            .arg(cluster.data()));
        cluster.start();
        cluster
    }

    pub fn data(&self) -> PathBuf {
        self.folder.join("data")
    }

    pub fn socket(&self) -> PathBuf {
        self.folder.join(".s.PGSQL.5432")
    }

    pub fn url(&self, database: &str) -> String {
        format!("postgres://postgres@localhost/{database}?host={}", self.folder.display())
    }

    #[expect(clippy::disallowed_methods, reason = "databases are made here")]
    pub async fn execute(&self, sql: &str) {
        let mut options = ConnectOptions::new(self.url("postgres"));
        options.max_connections(1).sqlx_logging(false);
        let connection = Database::connect(options).await.unwrap_or_else(|e| panic!("PostgreSQL for tests: {e}"));
        connection.execute_unprepared(sql).await.unwrap_or_else(|e| panic!("{sql}: {e}"));
        connection.close().await.unwrap();
    }

    /// Starts the server, and returns when it accepts connections.
    pub fn start(&self) {
        let bin = binaries();
        let mut server = as_postgres(&bin.join("postgres"));
        server.arg("-D").arg(self.data()).arg("-k").arg(&self.folder);
        let common = [
            "listen_addresses=",
            "fsync=off",
            "synchronous_commit=off",
            "full_page_writes=off",
            "log_line_prefix=%d: ",
        ];
        for setting in common.iter().chain(self.settings) {
            server.args(["-c", setting]);
        }
        let log = std::fs::File::options().create(true).append(true).open(self.folder.join("log")).unwrap();
        server.stdout(Stdio::null()).stderr(log).stdin(Stdio::null());
        // The server dies with the thread that started it, so that thread must live as long as the server.
        let (started, wait) = channel();
        let (end, ended) = channel();
        std::thread::spawn(move || {
            let mut child = server.spawn().unwrap_or_else(|e| panic!("cannot start PostgreSQL: {e}"));
            started.send(child.id()).unwrap();
            let _ = child.wait();
            let _ = end.send(());
        });
        let pid = wait.recv().unwrap();
        // On a busy machine the start has taken a minute.
        let deadline = Instant::now() + Duration::from_mins(5);
        let ready = || {
            let asked = Command::new(bin.join("pg_isready")).arg("-q").arg("-h").arg(&self.folder).status();
            asked.is_ok_and(|status| status.success())
        };
        while !(self.socket().exists() && ready()) {
            assert!(Instant::now() < deadline, "PostgreSQL did not start");
            std::thread::yield_now();
        }
        *self.running() = Some(Running { pid, ended });
    }

    /// Stops the server like an administrator: sessions are ended.
    pub fn stop(&self) {
        let Some(Running { pid, ended }) = self.running().take() else { return };
        signal("INT", &[pid]);
        ended.recv_timeout(Duration::from_mins(1)).unwrap();
    }

    /// Stops all of its processes with SIGSTOP.
    pub fn pause(&self) {
        self.signal("STOP");
    }

    pub fn resume(&self) {
        self.signal("CONT");
    }

    fn signal(&self, name: &str) {
        let running = self.running();
        let pid = running.as_ref().unwrap().pid;
        let sessions = Command::new("ps").args(["-o", "pid=", "--ppid", &pid.to_string()]).output().unwrap();
        let sessions = String::from_utf8(sessions.stdout).unwrap();
        let sessions = sessions.split_whitespace().map(|pid| pid.parse::<u32>().unwrap());
        // The main process is first: while it is stopped it starts no sessions.
        signal(name, &std::iter::once(pid).chain(sessions).collect::<Vec<_>>());
    }

    fn running(&self) -> std::sync::MutexGuard<'_, Option<Running>> {
        self.running.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        if self.running().is_some() {
            self.resume();
        }
        self.stop();
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

/// Sends a signal to processes. Those that have ended in the meantime are ignored.
fn signal(name: &str, pids: &[u32]) {
    let pids: Vec<String> = pids.iter().map(u32::to_string).collect();
    let _ = Command::new("kill").arg(format!("-{name}")).args(pids).stderr(Stdio::null()).status();
}

/// PostgreSQL refuses to run as root, and must end with the tests.
fn as_postgres(program: &Path) -> Command {
    let mut command = Command::new("setpriv");
    if is_root() {
        command.args(["--reuid=postgres", "--regid=postgres", "--clear-groups"]);
    }
    command.args(["--pdeathsig", "INT"]).arg(program);
    command.current_dir(scratch_folder());
    command
}

/// The folder of `initdb` and `postgres`, which are installed if they are missing.
fn binaries() -> PathBuf {
    if let Some(found) = find_binaries() {
        return found;
    }
    packages::install("postgresql");
    find_binaries().unwrap_or_else(|| panic!("the tests need the PostgreSQL server programs (initdb, postgres): install your system's package `postgresql`"))
}

fn find_binaries() -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let mut folders: Vec<PathBuf> = std::env::split_paths(&path).collect();
    for base in ["/usr/lib/postgresql", "/usr/pgsql", "/opt/homebrew/opt/postgresql"] {
        let versions = std::fs::read_dir(base).into_iter().flatten().flatten();
        let mut versions: Vec<PathBuf> = versions.map(|v| v.path().join("bin")).collect();
        versions.sort();
        folders.extend(versions.into_iter().rev());
    }
    folders.into_iter().find(|f| ["initdb", "postgres", "pg_isready"].iter().all(|program| f.join(program).exists()))
}
