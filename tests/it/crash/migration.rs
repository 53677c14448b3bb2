//! SIGKILL while a database of version 0.1 is taken over at a start: all of it is done, or nothing.

use std::process::Stdio;
use std::time::{Duration, Instant};

use sea_orm::{ConnectOptions, ConnectionTrait, Database, DatabaseConnection};

use super::compaction::{Tried, assert_used, some_days_ago};
use super::{Client, die_while_starting, draw};
use crate::cli::program::{Server, over};
use crate::support::database::TestDb;
use crate::support::on_both;

/// True if the database is of this version, and false if it has all steps of version 0.1.
async fn is_taken_over(db: &TestDb) -> bool {
    let store = db.store().await;
    let schema = store.schema().await.unwrap();
    store.close().await.unwrap();
    if schema.pending.is_empty() {
        assert_eq!(schema.missing_of_version_0_1, None);
        return true;
    }
    assert_eq!((schema.applied, schema.missing_of_version_0_1), (Vec::new(), Some(Vec::new())));
    false
}

async fn lives_through(db: TestDb, tried: Tried) {
    some_days_ago(&db, tried.kernels).await;
    let client = Client::new(&db);
    db.give_back_to_version_0_1().await;
    let whole = db.copy().await;
    let began = Instant::now();
    Server::over(&whole.url).kill();
    let takes = u64::try_from(began.elapsed().as_micros()).unwrap();
    let (mut seed, mut in_progress) = (20_260_111, 0);
    for _ in 0..tried.kills {
        let copy = db.copy().await;
        die_while_starting(&copy.url, Duration::from_micros(draw(&mut seed, takes))).await;
        in_progress += u64::from(!is_taken_over(&copy).await);
        let server = Server::over(&copy.url);
        assert_used(&client, &server.address, tried.used()).await;
        server.kill();
        assert!(is_taken_over(&copy).await);
    }
    println!(
        "{} kernels: {in_progress} of {} servers were killed before the database was taken over; usage exact, audits clean",
        tried.kernels, tried.kills
    );
}

/// Holds the take-over between its two statements for as long as `holder` is open.
async fn hold(db: &TestDb, holder: &DatabaseConnection) {
    if db.postgres_name().is_none() {
        // Counts more combinations than a machine can count.
        let tables = (0..16).map(|n| format!("sqlite_master t{n}")).collect::<Vec<_>>().join(", ");
        let trigger =
            format!("CREATE TRIGGER hold BEFORE UPDATE ON seaql_migrations BEGIN SELECT COUNT(*) FROM {tables}; END");
        return db.execute(&trigger).await;
    }
    send(holder, "SELECT pg_advisory_lock(1)").await.unwrap();
    let function = "CREATE FUNCTION hold() RETURNS trigger LANGUAGE plpgsql AS \
                    $$ BEGIN PERFORM pg_advisory_xact_lock(1); RETURN NEW; END $$";
    let trigger = "CREATE TRIGGER hold BEFORE UPDATE ON seaql_migrations FOR EACH ROW EXECUTE FUNCTION hold()";
    db.execute(function).await;
    db.execute(trigger).await;
}

/// Ends what [`hold`] has begun.
async fn let_go(db: &TestDb, holder: DatabaseConnection) {
    holder.close().await.unwrap();
    let drop = if db.postgres_name().is_none() { "DROP TRIGGER hold" } else { "DROP FUNCTION hold CASCADE" };
    db.execute(drop).await;
}

#[expect(clippy::disallowed_methods, reason = "what the tools of databases do")]
async fn send(connection: &DatabaseConnection, sql: &str) -> Result<(), sea_orm::DbErr> {
    connection.execute_unprepared(sql).await.map(|_| ())
}

/// Returns once a transaction keeps others from writing: on `SQLite` once one has waited in vain for as long as no start takes.
async fn until_it_is_held(db: &TestDb, other: &DatabaseConnection) {
    if db.postgres_name().is_some() {
        return db.until_a_writer_waits().await;
    }
    send(other, "PRAGMA busy_timeout = 1000").await.unwrap();
    while send(other, "BEGIN IMMEDIATE").await.is_ok() {
        send(other, "ROLLBACK").await.unwrap();
    }
}

on_both! {
    async fn killed_between_the_statements(db: TestDb) {
        some_days_ago(&db, 20).await;
        let client = Client::new(&db);
        db.give_back_to_version_0_1().await;
        let mut options = ConnectOptions::new(db.url.clone());
        options.max_connections(1).sqlx_logging(false);
        let holder = Database::connect(options).await.unwrap();
        hold(&db, &holder).await;
        let mut server = over(&db.url).arg("serve").stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        until_it_is_held(&db, &holder).await;
        server.kill().unwrap();
        server.wait().unwrap();
        let_go(&db, holder).await;
        assert!(!is_taken_over(&db).await);
        let server = Server::over(&db.url);
        assert_used(&client, &server.address, 20 * 2 * 86_400).await;
        server.kill();
        assert!(is_taken_over(&db).await);
    }

    async fn killed_while_a_database_is_taken_over(db: TestDb) {
        lives_through(db, Tried { kernels: 200, kills: 4 }).await;
    }

    #[ignore = "long"]
    async fn long_killed_while_a_database_is_taken_over(db: TestDb) {
        lives_through(db, Tried { kernels: 10_000, kills: 40 }).await;
    }
}
