//! A shell locks a table, or an `SQLite` file: writes are refused soon, and all other requests are answered.

use reqwest::Method;
use sea_orm::sqlx::{Connection, Executor, PgConnection, SqliteConnection, query};
use serde_json::{Value, json};

use super::support::{Reporter, until};
use crate::cli::program::Server;
use crate::support::database::{postgres, sqlite};
use crate::support::fixture::GROUP;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn writes_are_refused_while_a_shell_locks_a_table_and_taken_after() {
    let db = postgres().await;
    let mut reporter = Reporter::new(db.url.clone());
    let server = Server::over(&db.url);
    reporter.make_group(&server).await;
    reporter.report_some(&server, 3).await;
    let mut shell = PgConnection::connect(&db.url).await.unwrap();
    let mut transaction = shell.begin().await.unwrap();
    query("LOCK TABLE resource_groups").execute(&mut *transaction).await.unwrap();
    // A write that comes before the lock is noticed is given up, too, and not only those after it.
    let (_, refused) = reporter.report_another(&server).await;
    assert_eq!((refused.status, refused.retry_after.as_deref()), (503, Some("1")), "{refused:?}");
    reporter.until_ready_says(&server, "tables_locked", true).await;
    let ready = reporter.call(&server, Method::GET, "/readyz?for=writes", &Value::Null).await;
    assert_eq!((ready.status, &ready.body["code"]), (503, &json!("tables_locked")), "{ready:?}");
    let detail = ready.body["detail"].as_str().unwrap();
    assert!(detail.contains("the table resource_groups (AccessExclusiveLock"), "{detail}");
    reporter.assert_answers(&server).await;
    let weight = json!({"items": [{"target_type": "domain", "target_id": "default", "weight": "3"}]});
    let path = format!("/resource-groups/{GROUP}/fair-share-weights");
    assert_eq!(reporter.call(&server, Method::PUT, &path, &weight).await.status, 503);
    // Memory cannot be compared with the database, and answers say how old they may be.
    until("an answer with its age", async || {
        let url = format!("{}/resource-groups/{GROUP}/fair-share-status", server.address);
        let answer = reqwest::Client::new().get(url).bearer_auth(reporter.key()).send().await.unwrap();
        answer.headers().get("x-data-age").is_some_and(|age| age.to_str().unwrap().parse::<u64>().unwrap() >= 2)
    })
    .await;
    transaction.rollback().await.unwrap();
    reporter.until_ready_says(&server, "tables_locked", false).await;
    until_a_report_is_taken(&mut reporter, &server).await;
    reporter.report_some(&server, 3).await;
    reporter.assert_stored().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn writes_are_refused_while_a_shell_writes_to_the_file_and_taken_after() {
    let db = sqlite().await;
    let mut reporter = Reporter::new(db.url.clone());
    let server = Server::over(&db.url);
    reporter.make_group(&server).await;
    reporter.report_some(&server, 3).await;
    let mut shell = SqliteConnection::connect(&db.url).await.unwrap();
    shell.execute("BEGIN IMMEDIATE").await.unwrap();
    // The reason is there without a write that waits.
    reporter.until_ready_says(&server, "tables_locked", true).await;
    let ready = reporter.call(&server, Method::GET, "/readyz?for=writes", &Value::Null).await;
    assert_eq!((ready.status, &ready.body["code"]), (503, &json!("tables_locked")), "{ready:?}");
    assert!(ready.body["detail"].as_str().unwrap().contains("writes to the database file"), "{ready:?}");
    let (_, refused) = reporter.report_another(&server).await;
    assert_eq!((refused.status, refused.retry_after.as_deref()), (503, Some("1")), "{refused:?}");
    reporter.assert_answers(&server).await;
    shell.execute("ROLLBACK").await.unwrap();
    reporter.until_ready_says(&server, "tables_locked", false).await;
    until_a_report_is_taken(&mut reporter, &server).await;
    reporter.report_some(&server, 3).await;
    reporter.assert_stored().await;
}

/// Reports until a report is taken: for half a second after a write has waited in vain, others are refused without waiting.
async fn until_a_report_is_taken(reporter: &mut Reporter, server: &Server) {
    until("a report is taken", async || reporter.report_another(server).await.1.status == 200).await;
}
