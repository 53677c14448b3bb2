//! One client reads lists that take long, and others get the connections that they need.

use std::time::Duration;

use reqwest::{Client, Method, StatusCode};
use sea_orm::sqlx::{Connection, Executor, PgConnection, query, query_scalar};
use serde_json::{Value, json};
use tokio::task::JoinSet;

use super::support::{Reporter, until};
use crate::cli::program::{Server, end, over};
use crate::support::database::postgres;
use crate::support::fixture::GROUP;

/// More reads than there are connections, and fewer than one key may have unanswered.
const READS: usize = 40;
/// The connections that reads of all clients use together, and those of one client.
const OF_ALL: i64 = 5;
const OF_ONE: i64 = 3;
/// The longest wait for an answer. Reads that wait for the lock wait longer.
const ANSWERED: Duration = Duration::from_secs(10);

/// Reads the shadow report again and again from the start, whose table is locked.
fn read_many_times(readers: &mut JoinSet<()>, server: &Server, key: &str) {
    for _ in 0..READS {
        let url = format!("{}/resource-groups/{GROUP}/shadow-report", server.address);
        let asked = Client::new().get(url).bearer_auth(key);
        readers.spawn(async move {
            // The server ends first, or the lock.
            let _ = asked.send().await;
        });
    }
}

/// Waits until `count` sessions of the server wait for the lock.
async fn until_wait(watcher: &mut PgConnection, count: i64) {
    const WAITING: &str =
        "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'";
    until(&format!("{count} reads wait"), async || {
        query_scalar::<_, i64>(WAITING).fetch_one(&mut *watcher).await.unwrap() >= count
    })
    .await;
    assert_eq!(query_scalar::<_, i64>(WAITING).fetch_one(watcher).await.unwrap(), count);
}

fn make_viewer(url: &str, label: &str) -> String {
    end(over(url).args(["keys", "create", "--role", "viewer", "--label", label])).ok().trim_end().to_owned()
}

/// On `SQLite` no lock keeps a read waiting.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn reads_of_clients_leave_connections_to_reports_and_sign_in() {
    let db = postgres().await;
    let mut reporter = Reporter::new(db.url.clone());
    let (first, second) = (make_viewer(&db.url, "first"), make_viewer(&db.url, "second"));
    let server = Server::over(&db.url);
    reporter.make_group(&server).await;
    reporter.report_some(&server, 1).await;
    let mut shell = PgConnection::connect(&db.url).await.unwrap();
    // With a name of the server's sessions, because the server refuses writes while other programs lock its tables.
    shell.execute("SET application_name = 'fairshared test/lock'").await.unwrap();
    let mut watcher = PgConnection::connect(&db.url).await.unwrap();
    let mut transaction = shell.begin().await.unwrap();
    query("LOCK TABLE shadow_comparisons").execute(&mut *transaction).await.unwrap();
    let mut readers = JoinSet::new();
    read_many_times(&mut readers, &server, &first);
    until_wait(&mut watcher, OF_ONE).await;
    // Another client's list comes between.
    let connectors = Client::new().get(format!("{}/connectors", server.address)).bearer_auth(&second);
    let answer = tokio::time::timeout(ANSWERED, connectors.send()).await.unwrap().unwrap();
    assert_eq!(answer.status(), StatusCode::OK);
    read_many_times(&mut readers, &server, &second);
    until_wait(&mut watcher, OF_ALL).await;
    tokio::time::timeout(ANSWERED, reporter.report_some(&server, 3)).await.unwrap();
    let sign_in = Client::new().post(format!("{}/ui/session", server.address)).header("origin", &server.address);
    let sign_in = sign_in.header("x-fairshared-csrf", "1");
    let answer = tokio::time::timeout(ANSWERED, sign_in.json(&json!({"key": first})).send()).await.unwrap().unwrap();
    assert_eq!(answer.status(), StatusCode::NO_CONTENT);
    let weight = json!({"items": [{"target_type": "domain", "target_id": "research", "weight": "3"}]});
    let path = format!("/resource-groups/{GROUP}/fair-share-weights");
    let written = tokio::time::timeout(ANSWERED, reporter.call(&server, Method::PUT, &path, &weight)).await.unwrap();
    assert_eq!(written.status, 200, "{written:?}");
    assert_eq!(reporter.call(&server, Method::GET, "/readyz?for=writes", &Value::Null).await.status, 200);
    transaction.rollback().await.unwrap();
    readers.join_all().await;
    reporter.assert_stored().await;
}
