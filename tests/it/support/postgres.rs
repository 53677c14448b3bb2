//! A throwaway PostgreSQL cluster: made on first use, gone with the process.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::OnceLock;
use std::time::{Duration, Instant};

use sea_orm::{ConnectOptions, ConnectionTrait, Database};
use tokio::sync::Mutex;

use super::packages::{self, is_root, run};

struct Cluster {
    folder: PathBuf,
}

pub fn url(database: &str) -> String {
    format!("postgres://postgres@localhost/{database}?host={}", cluster().folder.display())
}

/// One administrative statement at a time: databases are cloned from a template that nobody may use meanwhile.
#[expect(clippy::disallowed_methods, reason = "databases are made here")]
pub async fn execute(sql: &str) {
    static TURN: Mutex<()> = Mutex::const_new(());
    let _turn = TURN.lock().await;
    let mut options = ConnectOptions::new(url("postgres"));
    options.max_connections(1).sqlx_logging(false);
    let connection = Database::connect(options).await.unwrap_or_else(|e| panic!("PostgreSQL for tests: {e}"));
    connection.execute_unprepared(sql).await.unwrap_or_else(|e| panic!("{sql}: {e}"));
    connection.close().await.unwrap();
}

/// What the server has written about one database.
pub fn log(database: &str) -> Vec<String> {
    let log = std::fs::read_to_string(cluster().folder.join("log")).unwrap();
    log.lines().filter_map(|line| line.strip_prefix(&format!("{database}: "))).map(str::to_owned).collect()
}

fn cluster() -> &'static Cluster {
    static CLUSTER: OnceLock<Cluster> = OnceLock::new();
    CLUSTER.get_or_init(start)
}

fn start() -> Cluster {
    remove_stale();
    let bin = binaries();
    let folder = std::env::temp_dir().join(format!("fairshared-pg-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let data = folder.join("data");
    if is_root() {
        run(Command::new("chown").arg("-R").arg("postgres:").arg(&folder));
    }
    run(as_postgres(&bin.join("initdb"))
        .args(["--no-sync", "--auth=trust", "--username=postgres", "--encoding=UTF8", "--locale=C"])
        .arg("-D")
        .arg(&data));
    let mut server = as_postgres(&bin.join("postgres"));
    server.arg("-D").arg(&data).arg("-k").arg(&folder);
    for setting in [
        "listen_addresses=",
        "fsync=off",
        "synchronous_commit=off",
        "full_page_writes=off",
        "max_connections=300",
        "shared_buffers=128MB",
        "log_line_prefix=%d: ",
    ] {
        server.args(["-c", setting]);
    }
    let log = std::fs::File::create(folder.join("log")).unwrap();
    server.stdout(Stdio::null()).stderr(log).stdin(Stdio::null());
    // The server dies with the thread that started it, so that thread must live as long as the tests.
    let (started, wait) = std::sync::mpsc::channel();
    std::thread::spawn(move || {
        let mut child = server.spawn().unwrap_or_else(|e| panic!("cannot start PostgreSQL: {e}"));
        started.send(()).unwrap();
        let _ = child.wait();
    });
    wait.recv().unwrap();
    let deadline = Instant::now() + Duration::from_mins(1);
    let socket = folder.join(".s.PGSQL.5432");
    let ready =
        || Command::new(bin.join("pg_isready")).arg("-q").arg("-h").arg(&folder).status().is_ok_and(|s| s.success());
    while !(socket.exists() && ready()) {
        assert!(Instant::now() < deadline, "PostgreSQL did not start");
        std::thread::yield_now();
    }
    Cluster { folder }
}

/// PostgreSQL refuses to run as root; and it must not outlive the tests.
fn as_postgres(program: &Path) -> Command {
    let mut command = Command::new("setpriv");
    if is_root() {
        command.args(["--reuid=postgres", "--regid=postgres", "--clear-groups"]);
    }
    command.args(["--pdeathsig", "INT"]).arg(program);
    command.current_dir(std::env::temp_dir());
    command
}

/// Where `initdb` and `postgres` are; on a machine without them they are installed.
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

/// Removes what test runs that were killed left behind.
fn remove_stale() {
    for entry in std::fs::read_dir(std::env::temp_dir()).into_iter().flatten().flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        let Some(pid) = name.strip_prefix("fairshared-pg-") else { continue };
        if !Path::new("/proc").join(pid).exists() {
            let _ = std::fs::remove_dir_all(entry.path());
        }
    }
}
