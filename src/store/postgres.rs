//! Connections to `PostgreSQL`.

use std::fmt::Display;
use std::pin::pin;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use sea_orm::sqlx::postgres::{PgConnectOptions, PgConnection, PgPoolOptions};
use sea_orm::sqlx::{self, ConnectOptions, Connection, Executor};
use sea_orm::{DatabaseConnection, DbErr, RuntimeErr};
use tokio::time::{sleep, timeout};

use super::{Result, pool_options};
use crate::process::random;

pub const MAX_CONNECTIONS: u32 = 10;
/// The longest time in which a connection must be opened, or must show that it is alive, while a client waits for an answer.
const CONNECT_TIMEOUT: Duration = Duration::from_millis(1_500);
/// The longest time for the first connection before a second one is opened to find out the cause.
const AT_ONCE: Duration = Duration::from_millis(200);
/// Connections that were idle for longer are closed, because routers may have forgotten them.
const IDLE_TIMEOUT: Duration = Duration::from_mins(4);
/// The pause between two looks at whether all connections are idle.
const IDLE_CHECK_PAUSE: Duration = Duration::from_millis(1);
/// A connection that cannot end its transaction within this time is closed.
const RELEASE_TIMEOUT: Duration = Duration::from_secs(2);
/// With these settings the server notices after about half a minute that this machine is gone, and after a minute that this
/// process hangs, and releases the locks of its transactions. Notices, such as that a table exists already, are not sent.
const SESSION_SETTINGS: &str = "SET tcp_keepalives_idle = 10; SET tcp_keepalives_interval = 5; SET tcp_keepalives_count = 4; \
                        SET idle_in_transaction_session_timeout = '1min'; SET client_min_messages = warning";
/// No statement waits longer for the lock of another session while clients wait for answers.
const LIMIT_LOCKS: &str = "SET lock_timeout = '15s'";
/// The same limit for the rest of a transaction that had another one.
pub const LIMIT_LOCKS_AGAIN: &str = "SET LOCAL lock_timeout = '15s'";

/// The source of connections. Each connection has a name that the server shows, by which abandoned ones are found.
pub struct PostgresSource {
    options: PgConnectOptions,
    instance: String,
    generation: AtomicU64,
}

impl PostgresSource {
    pub fn new(options: PgConnectOptions) -> Self {
        let instance = random::id().simple().to_string().split_off(24);
        Self { options: options.disable_statement_logging(), instance, generation: AtomicU64::new(0) }
    }

    /// The connections of a process that can wait.
    pub async fn connect(&self) -> Result<DatabaseConnection> {
        let options = self.named(self.current());
        let pool = checked_pool(pool_options(MAX_CONNECTIONS), &[SESSION_SETTINGS]).connect_lazy_with(options.clone());
        let failed = |error: sqlx::Error| DbErr::Conn(RuntimeErr::SqlxError(error.into()));
        let mut first = pin!(pool.acquire());
        let first = if let Ok(first) = timeout(AT_ONCE, &mut first).await {
            first
        } else {
            // The pool tries repeatedly, and then only reports a timeout. A connection of its own shows the cause.
            let beside = options.connect().await.map_err(failed)?;
            if let Err(error) = beside.close().await {
                tracing::debug!(%error, "a connection did not end cleanly");
            }
            // The first one is not given up, because the server would log a client that it has lost.
            first.await
        };
        // Returned to the pool before it is used, because a statement would otherwise open a second connection.
        first.map_err(failed)?.return_to_pool().await;
        Ok(pool.into())
    }

    /// New connections, opened when they are needed, in place of the previous ones.
    pub fn renewed(&self) -> DatabaseConnection {
        self.generation.fetch_add(1, Ordering::Relaxed);
        let pool = pool_options(MAX_CONNECTIONS).acquire_timeout(CONNECT_TIMEOUT).idle_timeout(IDLE_TIMEOUT);
        checked_pool(pool, &[SESSION_SETTINGS, LIMIT_LOCKS]).connect_lazy_with(self.named(self.current())).into()
    }

    /// A connection of its own, to watch the database.
    pub async fn watch(&self) -> sqlx::Result<PgConnection> {
        self.named("watch").connect().await
    }

    /// Ends the sessions of abandoned connections, which the server may still take for alive, with the locks of their
    /// transactions.
    pub async fn end_left_behind(&self, connection: &mut PgConnection) {
        let ended = sqlx::query(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name LIKE $1 \
             AND application_name <> $2 AND pid <> pg_backend_pid()",
        )
        .bind(self.name("%"))
        .bind(self.name(self.current()))
        .execute(connection)
        .await;
        if let Err(error) = ended {
            tracing::debug!(%error, "sessions that were left behind not ended");
        }
    }

    fn current(&self) -> u64 {
        self.generation.load(Ordering::Relaxed)
    }

    fn name(&self, part: impl Display) -> String {
        format!("fairshared {}/{part}", self.instance)
    }

    fn named(&self, part: impl Display) -> PgConnectOptions {
        self.options.clone().application_name(&self.name(part))
    }
}

/// Waits until all connections are idle. The rollback of a transaction that was dropped goes on in the background, and the
/// server would log a lost client if its connection were closed before the answer.
pub async fn wait_for_rollbacks(connections: &DatabaseConnection) {
    let pool = connections.get_postgres_connection_pool();
    while pool.num_idle() < pool.size() as usize {
        sleep(IDLE_CHECK_PAUSE).await;
    }
}

/// A pool that takes back no connection in a transaction, and keeps no large buffers.
fn checked_pool(pool: PgPoolOptions, settings: &'static [&'static str]) -> PgPoolOptions {
    let pool = pool.after_connect(move |connection, _| {
        Box::pin(async move {
            for settings in settings {
                // A proxy before the server may not know these settings.
                if let Err(error) = connection.execute(*settings).await {
                    tracing::debug!(%error, "settings of a connection not made");
                }
            }
            Ok(())
        })
    });
    pool.after_release(|connection, _| {
        Box::pin(async move {
            let Ok(ended) = timeout(RELEASE_TIMEOUT, end_transaction(connection)).await else { return Ok(false) };
            ended?;
            // A run writes many megabytes in one statement, and the connection would keep a buffer of that size for ever.
            connection.shrink_buffers();
            Ok(true)
        })
    })
}

/// Rolls back an open transaction. Without one no rollback is sent, because the server would log a warning. A `begin` that
/// was cancelled half-way leaves a transaction that the driver does not count; the driver finds it by a statement that does
/// nothing.
async fn end_transaction(connection: &mut PgConnection) -> sqlx::Result<()> {
    match connection.begin_with("-- released").await {
        Ok(open) => open.rollback().await,
        Err(sqlx::Error::BeginFailed) => Ok(()),
        Err(error) => Err(error),
    }
}
