//! A fresh, migrated database for each test.

use std::sync::atomic::{AtomicU32, Ordering};

use fairshared::store::{CommitDurability, Store};
use migration::version_0_1::STEPS;
use sea_orm::{ConnectOptions, ConnectionTrait, Database};
use tempfile::TempDir;
use tokio::sync::OnceCell;

use super::postgres;

/// An empty, migrated database for one test.
pub struct TestDb {
    pub url: String,
    synchronous: CommitDurability,
    /// The folder of the files, which is removed with this value.
    _files: Option<TempDir>,
}

impl TestDb {
    fn new(url: String, files: Option<TempDir>) -> Self {
        Self { url, synchronous: CommitDurability::default(), _files: files }
    }

    /// A database that the caller keeps.
    pub fn at(url: String) -> Self {
        Self::new(url, None)
    }

    /// A database in a folder that is removed with this value.
    #[allow(dead_code, reason = "benches call it")]
    pub fn in_folder(url: String, files: TempDir) -> Self {
        Self::new(url, Some(files))
    }

    /// Sets what a commit waits for.
    #[allow(dead_code, reason = "benches call it")]
    pub fn with(self, synchronous: CommitDurability) -> Self {
        Self { synchronous, ..self }
    }

    pub async fn store(&self) -> Store {
        Store::connect_with(&self.url, self.synchronous)
            .await
            .unwrap_or_else(|e| panic!("cannot open {}: {e}", self.url))
    }
}

impl TestDb {
    /// Executes statements as the tools of databases do, without the store.
    #[expect(clippy::disallowed_methods, reason = "what the tools of databases do")]
    pub async fn execute(&self, sql: &str) {
        let mut options = ConnectOptions::new(self.url.clone());
        options.max_connections(1).sqlx_logging(false);
        let connection = Database::connect(options).await.unwrap();
        connection.execute_unprepared(sql).await.unwrap_or_else(|e| panic!("{e}"));
        connection.close().await.unwrap();
    }

    /// Gives the database the steps of version 0.1 in place of the first one of this version, as if that version had made it. Later
    /// steps are reverted.
    #[allow(dead_code, reason = "benches do not call it")]
    pub async fn give_back_to_version_0_1(&self) {
        let store = self.store().await;
        let applied = u32::try_from(store.schema().await.unwrap().applied.len()).unwrap();
        store.migrate_down(applied.saturating_sub(1)).await.unwrap();
        store.close().await.unwrap();
        let steps = STEPS.map(|step| format!("('{step}', 0)")).join(", ");
        let insert = format!("INSERT INTO seaql_migrations (version, applied_at) VALUES {steps}");
        self.execute(&format!("DELETE FROM seaql_migrations; {insert}")).await;
    }

    /// The lines about this database in the log of PostgreSQL.
    pub fn log(&self) -> Vec<String> {
        postgres::log(self.postgres_name().unwrap())
    }

    /// A copy of this database. No connection may be open.
    pub async fn copy(&self) -> TestDb {
        let Some(name) = self.postgres_name() else {
            let copy = sqlite_unmigrated();
            let [from, to] = [&self.url, &copy.url].map(|url| url.strip_prefix("sqlite://").unwrap());
            std::fs::copy(from, to).unwrap();
            let [log, copied_log] = [from, to].map(|file| format!("{file}-wal"));
            if std::fs::exists(&log).unwrap() {
                std::fs::copy(log, copied_log).unwrap();
            }
            return copy;
        };
        let copy = next_name();
        postgres::execute(&format!("CREATE DATABASE {copy} TEMPLATE {name}")).await;
        TestDb::new(postgres::url(&copy), None)
    }

    /// The name of the database in the shared PostgreSQL cluster; `None` for SQLite.
    pub fn postgres_name(&self) -> Option<&str> {
        let (_, rest) = self.url.split_once("postgres://postgres@localhost/")?;
        rest.split('?').next()
    }

    /// Returns once a transaction waits for another one. Returns at once for SQLite, whose writers wait before they
    /// begin.
    pub async fn until_a_writer_waits(&self) {
        self.while_sessions("NOT EXISTS", "AND wait_event_type = 'Lock'").await;
    }

    /// Returns once PostgreSQL has completed all statements.
    pub async fn until_no_session_works(&self) {
        self.while_sessions("EXISTS", "AND state = 'active'").await;
    }

    /// Returns once PostgreSQL has ended all sessions of this database.
    pub async fn until_all_sessions_end(&self) {
        self.while_sessions("EXISTS", "").await;
    }

    /// Waits while PostgreSQL has sessions of this database for which `like` is true, or while it has none.
    async fn while_sessions(&self, exist: &str, like: &str) {
        let Some(name) = self.postgres_name() else { return };
        postgres::execute(&format!(
            "DO $$ BEGIN WHILE {exist} (SELECT FROM pg_stat_activity WHERE datname = '{name}' {like}) \
             LOOP PERFORM pg_stat_clear_snapshot(); END LOOP; END $$"
        ))
        .await;
    }
}

static NEXT: AtomicU32 = AtomicU32::new(0);

fn next_name() -> String {
    format!("test_{}", NEXT.fetch_add(1, Ordering::Relaxed))
}

/// A copy of a migrated SQLite file.
pub async fn sqlite() -> TestDb {
    // The template is kept in memory, because nothing would remove the folder of a static.
    static TEMPLATE: OnceCell<Vec<u8>> = OnceCell::const_new();
    let template = TEMPLATE
        .get_or_init(async || {
            let folder = TempDir::new().unwrap();
            let file = folder.path().join("template.db");
            let store = Store::connect(&sqlite_url(&file)).await.unwrap();
            store.migrate_up().await.unwrap();
            store.close().await.unwrap();
            std::fs::read(&file).unwrap()
        })
        .await;
    let folder = TempDir::new().unwrap();
    let file = folder.path().join("fairshared.db");
    std::fs::write(&file, template).unwrap();
    TestDb::new(sqlite_url(&file), Some(folder))
}

/// An empty SQLite file without tables.
pub fn sqlite_unmigrated() -> TestDb {
    let folder = TempDir::new().unwrap();
    TestDb::new(sqlite_url(&folder.path().join("fairshared.db")), Some(folder))
}

fn sqlite_url(file: &std::path::Path) -> String {
    format!("sqlite://{}", file.display())
}

/// A clone of a migrated PostgreSQL database, in the shared temporary cluster of this process.
pub async fn postgres() -> TestDb {
    static TEMPLATE: OnceCell<()> = OnceCell::const_new();
    TEMPLATE
        .get_or_init(async || {
            postgres::execute("CREATE DATABASE template_fairshared").await;
            let store = Store::connect(&postgres::url("template_fairshared")).await.unwrap();
            store.migrate_up().await.unwrap();
            store.close().await.unwrap();
        })
        .await;
    let name = next_name();
    postgres::execute(&format!("CREATE DATABASE {name} TEMPLATE template_fairshared")).await;
    TestDb::new(postgres::url(&name), None)
}

/// An empty PostgreSQL database without tables.
pub async fn postgres_unmigrated() -> TestDb {
    let name = next_name();
    postgres::execute(&format!("CREATE DATABASE {name}")).await;
    TestDb::new(postgres::url(&name), None)
}
