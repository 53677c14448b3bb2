//! Connections whose transaction ended otherwise than the driver assumes.

use fairshared::store::{Store, StoreError, TransientFault};
use sea_orm::ConnectionTrait;

use crate::support::database::{TestDb, sqlite};
use crate::support::on_both;

async fn rows(db: &TestDb) -> usize {
    // Another connection, which sees only what was committed.
    let store = db.store().await;
    let found = query(&store, "SELECT n FROM numbers").await;
    store.close().await.unwrap();
    found
}

async fn query(store: &Store, sql: &str) -> usize {
    let statement = sea_orm::Statement::from_string(store.backend(), sql);
    store.read().query_all_raw(statement).await.unwrap().len()
}

#[expect(clippy::disallowed_methods, reason = "the test's own table")]
async fn send(db: &impl ConnectionTrait, sql: &str) -> Result<(), sea_orm::DbErr> {
    db.execute_unprepared(sql).await.map(|_| ())
}

on_both! {
    async fn a_transaction_with_a_failed_statement_keeps_nothing(db: TestDb) {
        let store = db.store().await;
        send(store.write(), "CREATE TABLE numbers (n integer PRIMARY KEY)").await.unwrap();
        send(store.write(), "INSERT INTO numbers VALUES (1)").await.unwrap();
        let tx = store.begin().await.unwrap();
        send(&tx, "INSERT INTO numbers VALUES (2)").await.unwrap();
        assert!(send(&tx, "INSERT INTO numbers VALUES (1)").await.is_err());
        // Neither what came before the fault nor what comes after it.
        assert!(send(&tx, "INSERT INTO numbers VALUES (3)").await.is_err());
        assert!(tx.commit().await.is_err());
        assert_eq!(rows(&db).await, 1);
        for n in 10..14 {
            let tx = store.begin().await.unwrap();
            send(&tx, &format!("INSERT INTO numbers VALUES ({n})")).await.unwrap();
            tx.commit().await.unwrap();
        }
        assert_eq!(rows(&db).await, 5);
    }
}

/// `SQLite` rolls back by itself, as it does on a full disk, and the driver still counts the transaction.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_connection_that_was_rolled_back_is_not_used_again() {
    let db = sqlite().await;
    let store = db.store().await;
    send(store.write(), "CREATE TABLE numbers (n integer PRIMARY KEY)").await.unwrap();
    send(store.write(), "INSERT INTO numbers VALUES (1)").await.unwrap();
    for n in 2..6 {
        let tx = store.begin().await.unwrap();
        assert!(send(&tx, "INSERT OR ROLLBACK INTO numbers VALUES (1)").await.is_err());
        assert!(send(&tx, "INSERT INTO numbers VALUES (100)").await.is_err());
        drop(tx);
        let tx = store.begin().await.unwrap();
        send(&tx, &format!("INSERT INTO numbers VALUES ({n})")).await.unwrap();
        tx.commit().await.unwrap();
        assert_eq!(rows(&db).await, n);
        // Single statements and snapshots as well.
        let snapshot = store.begin_snapshot().await.unwrap();
        assert!(send(&snapshot, "INSERT OR ROLLBACK INTO numbers VALUES (1)").await.is_err());
        drop(snapshot);
        for _ in 0..8 {
            assert_eq!(query(&store, "SELECT n FROM numbers").await, n);
        }
    }
}

/// A commit that is refused leaves the transaction open until it is rolled back.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_commit_that_fails_keeps_nothing() {
    let db = sqlite().await;
    let store = db.store().await;
    send(store.write(), "CREATE TABLE numbers (n integer PRIMARY KEY)").await.unwrap();
    let child = "CREATE TABLE children (n integer REFERENCES numbers (n) DEFERRABLE INITIALLY DEFERRED)";
    send(store.write(), child).await.unwrap();
    for n in 1..4 {
        let tx = store.begin().await.unwrap();
        send(&tx, "INSERT INTO numbers VALUES (50)").await.unwrap();
        send(&tx, "INSERT INTO children VALUES (51)").await.unwrap();
        assert!(tx.commit().await.is_err());
        let tx = store.begin().await.unwrap();
        send(&tx, &format!("INSERT INTO numbers VALUES ({n})")).await.unwrap();
        tx.commit().await.unwrap();
        assert_eq!(rows(&db).await, n);
    }
}

/// No file of another database is written, at whatever moment it replaces the first one.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_transaction_that_began_before_the_file_was_replaced_is_not_committed() {
    let db = sqlite().await;
    let store = db.store().await;
    let file = db.url.strip_prefix("sqlite://").unwrap().to_owned();
    let tx = store.begin().await.unwrap();
    send(&tx, "CREATE TABLE numbers (n integer PRIMARY KEY)").await.unwrap();
    std::fs::rename(&file, format!("{file}.away")).unwrap();
    let refused = StoreError::from(tx.commit().await.unwrap_err());
    assert!(matches!(refused, StoreError::Unavailable { fault: TransientFault::Replaced, .. }), "{refused}");
    assert!(matches!(store.begin().await, Err(StoreError::Unavailable { fault: TransientFault::Replaced, .. })));
    assert_eq!(store.write_refusals().iter().map(|t| t.fault).collect::<Vec<_>>(), [TransientFault::Replaced]);
    assert!(!std::path::Path::new(&file).exists());
    std::fs::rename(format!("{file}.away"), &file).unwrap();
    assert_eq!(store.write_refusals(), []);
    let tx = store.begin().await.unwrap();
    send(&tx, "CREATE TABLE numbers (n integer PRIMARY KEY)").await.unwrap();
    tx.commit().await.unwrap();
    assert_eq!(rows(&db).await, 0);
}
