//! PostgreSQL stopped, paused, cut off and full: sequences and reads are answered from memory, writes are refused within 2
//! s, and afterwards every acknowledged write is stored exactly once.

use std::time::{Duration, Instant};

use sea_orm::sqlx::{Connection, PgConnection, SqliteConnection};

use super::traffic::World;
use crate::cli::program::{Server, end, over};
use crate::support::database;
use crate::support::postgres::{self, Cluster};
use crate::support::proxy::{Cut, Mode, Proxy};

const SHORT: Duration = Duration::from_secs(4);

/// Lets a fault last for `time`.
async fn for_a_while(time: Duration) {
    tokio::time::sleep(time).await;
}

async fn stopped(cluster: &str, lasts: Duration) {
    let cluster = Cluster::new(cluster, &[]);
    let world = World::over(&cluster.url("postgres")).await;
    cluster.stop();
    world.until_degraded().await;
    for_a_while(lasts).await;
    cluster.start();
    let kernels = world.check().await;
    println!("PostgreSQL stopped for {lasts:?}: {kernels} kernels, none lost, none twice");
}

async fn paused(cluster: &str, lasts: Duration) {
    let cluster = Cluster::new(cluster, &[]);
    let world = World::over(&cluster.url("postgres")).await;
    cluster.pause();
    world.until_degraded().await;
    for_a_while(lasts).await;
    cluster.resume();
    let kernels = world.check().await;
    println!("PostgreSQL paused for {lasts:?}: {kernels} kernels, none lost, none twice");
}

async fn blackholed(lasts: Duration) {
    let db = database::postgres().await;
    let proxy = Proxy::before(postgres::socket()).await;
    let world = World::over(&proxy.url(db.postgres_name().unwrap())).await;
    proxy.set(Mode::Blackhole);
    world.until_degraded().await;
    for_a_while(lasts).await;
    proxy.set(Mode::Pass);
    let kernels = world.check().await;
    println!("PostgreSQL blackholed for {lasts:?}: {kernels} kernels, none lost, none twice");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn postgres_stopped() {
    stopped("stopped", SHORT).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn postgres_paused() {
    paused("paused", SHORT).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn postgres_blackholed() {
    blackholed(SHORT).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "long"]
async fn long_postgres_stopped() {
    stopped("long-stopped", Duration::from_secs(75)).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "long"]
async fn long_postgres_paused() {
    paused("long-paused", Duration::from_secs(30)).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "long"]
async fn long_postgres_blackholed() {
    blackholed(Duration::from_mins(1)).await;
}

/// A commit that was cut off may be stored or not, so no client gets a permanent failure as its answer.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn postgres_cut_in_mid_transaction() {
    let db = database::postgres().await;
    let proxy = Proxy::before(postgres::socket()).await;
    let world = World::over(&proxy.url(db.postgres_name().unwrap())).await;
    for round in 0..10 {
        proxy.cut_at(if round % 2 == 0 { Cut::BeforeCommit } else { Cut::AfterCommit });
        let since = Instant::now();
        while proxy.cuts_done() <= round {
            assert!(since.elapsed() < Duration::from_secs(20), "nobody commits");
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        world.more_writes(5).await;
        // And all connections at once, whatever they do.
        proxy.cut();
        world.more_writes(5).await;
    }
    world.check().await;
}

/// Other programs hold every connection that the server could open: its existing ones work, and this is no fault of the
/// server.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn postgres_has_no_connections_left() {
    const SETTINGS: &[&str] = &["max_connections=18", "superuser_reserved_connections=0", "max_wal_senders=0"];
    let cluster = Cluster::new("limit", SETTINGS);
    let url = cluster.url("postgres");
    let world = World::over(&url).await;
    let mut taken = Vec::new();
    while let Ok(connection) = PgConnection::connect(&url).await {
        taken.push(connection);
    }
    // The connections that the server has end, and others are faster to take their places.
    let end_others = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity \
                      WHERE application_name LIKE 'fairshared%' AND application_name NOT LIKE '%watch'";
    sea_orm::sqlx::query(end_others).execute(taken.last_mut().unwrap()).await.unwrap();
    let since = Instant::now();
    while since.elapsed() < SHORT {
        if let Ok(connection) = PgConnection::connect(&url).await {
            taken.push(connection);
        }
    }
    assert!(taken.len() >= 3);
    drop(taken);
    world.check().await;
}

/// Another session holds the row of the group, as a process does that was stopped in the middle of a run.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn postgres_group_locked_by_another_session() {
    let db = database::postgres().await;
    let world = World::over(&db.url).await;
    let mut other = PgConnection::connect(&db.url).await.unwrap();
    for _ in 0..2 {
        let mut lock = other.begin().await.unwrap();
        sea_orm::sqlx::query("SELECT name FROM resource_groups FOR UPDATE").execute(&mut *lock).await.unwrap();
        for_a_while(SHORT).await;
        lock.rollback().await.unwrap();
        world.more_writes(5).await;
    }
    world.check().await;
}

/// Another process holds the lock of the file, which is no reason to wait for a minute.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn sqlite_locked_by_another_process() {
    let db = database::sqlite().await;
    let world = World::over(&db.url).await;
    let mut other = SqliteConnection::connect(&db.url).await.unwrap();
    for _ in 0..2 {
        let lock = other.begin_with("BEGIN IMMEDIATE").await.unwrap();
        for_a_while(SHORT).await;
        lock.rollback().await.unwrap();
        world.more_writes(5).await;
    }
    world.check().await;
}

/// The port listens from the start, and the service answers once the database does.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_waits_for_its_database() {
    let cluster = Cluster::new("late", &[]);
    cluster.stop();
    let port = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let address = format!("http://127.0.0.1:{port}");
    let url = cluster.url("postgres");
    let starting = std::thread::spawn(move || {
        let listen = format!("127.0.0.1:{port}");
        Server::start(over(&url).args(["serve", "--listen", &listen, "--wait-for-database", "2m"]))
    });
    let client = reqwest::Client::new();
    let get = async |path: &str| client.get(format!("{address}{path}")).send().await;
    let since = Instant::now();
    while get("/healthz").await.is_err() {
        assert!(since.elapsed() < Duration::from_secs(20), "nobody listens");
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    assert_eq!(get("/healthz").await.unwrap().status(), 200);
    for path in ["/readyz", "/resource-groups", "/graphql", "/nothing"] {
        let answer = get(path).await.unwrap();
        assert_eq!((answer.status().as_u16(), answer.headers()["retry-after"].to_str().unwrap()), (503, "1"), "{path}");
        let problem: serde_json::Value = answer.json().await.unwrap();
        assert_eq!(problem["code"], "starting", "{problem}");
        assert!(!problem["request_id"].as_str().unwrap().is_empty());
    }
    cluster.start();
    let server = tokio::task::spawn_blocking(|| starting.join().unwrap()).await.unwrap();
    assert_eq!(get("/readyz").await.unwrap().status(), 200);
    assert_eq!(get("/resource-groups").await.unwrap().status(), 401);
    server.signal("TERM");
    assert_eq!(server.wait(), Some(0));
}

/// The queries of a server between its own start and its first request.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_database_that_goes_away_while_the_server_starts() {
    let db = database::postgres().await;
    db.store().await.close().await.unwrap();
    for statement in ["FROM \"api_keys\"", "INTO \"service_runs\"", "FROM \"job_runs\""] {
        let proxy = Proxy::before(postgres::socket()).await;
        let url = proxy.url(db.postgres_name().unwrap());
        proxy.cut_at(Cut::AndRefuse(statement));
        let starting = tokio::task::spawn_blocking(move || Server::over(&url));
        let since = Instant::now();
        while proxy.cuts_done() == 0 {
            assert!(since.elapsed() < Duration::from_secs(20), "nothing asks for {statement}");
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        for_a_while(Duration::from_secs(1)).await;
        proxy.set(Mode::Pass);
        let server = starting.await.unwrap();
        let client = reqwest::Client::new();
        let ready = async || client.get(format!("{}/readyz", server.address)).send().await.unwrap().status();
        while ready().await != 200 {
            assert!(since.elapsed() < Duration::from_secs(30), "not ready after {statement}");
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        server.signal("TERM");
        assert_eq!(server.wait(), Some(0), "{statement}");
    }
}

#[test]
fn a_server_does_not_wait_for_ever() {
    let mut serve = over("postgres://127.0.0.1:1/nothing");
    serve.args(["serve", "--listen", "127.0.0.1:0", "--wait-for-database", "1s"]);
    let ended = end(serve.env("FAIRSHARED_LOG", "warn"));
    assert_eq!(ended.code, Some(1), "{ended:?}");
    assert!(ended.stderr.contains("waiting for the database"), "{ended:?}");
    let last = ended.stderr.lines().last().unwrap();
    assert!(last.starts_with("error: cannot open the database ") && last.contains("refused"), "{ended:?}");
}
