//! The watcher asks the database regularly, on a connection of its own, whether it answers. This distinguishes a busy
//! database from one that is away: other statements may wait for a lock, but never for a database that does not answer.

use std::time::Duration;

use sea_orm::sqlx::postgres::PgConnection;
use sea_orm::sqlx::sqlite::{SqliteConnectOptions, SqliteConnection};
use sea_orm::sqlx::{self, ConnectOptions, Connection, Executor};
use sea_orm::{DbErr, RuntimeErr};
use tokio::time::{Instant, sleep, timeout};

use super::Store;
use super::fault::TransientFault;
use super::postgres::PostgresSource;
use super::table_locks::TableLock;

/// The time between an answer and the next question.
const QUESTION_PAUSE: Duration = Duration::from_millis(400);
/// The database counts as away if a question is not answered within this time.
const ANSWER_TIMEOUT: Duration = Duration::from_millis(1_200);
/// The connection is given up if it does not answer within this further time.
const GIVEN_UP: Duration = Duration::from_secs(4);

/// The address of the database.
pub enum WatchedAddress {
    Postgres(PostgresSource),
    Sqlite(SqliteConnectOptions),
}

/// The watcher's connection.
enum WatcherConnection {
    Postgres(PgConnection),
    Sqlite(SqliteConnection),
}

pub struct DatabaseWatcher {
    store: Store,
    line: Option<WatcherConnection>,
    answered: Instant,
    /// The lock that was found by the last look. Only a lock that is found twice in a row counts, because many are short.
    found_lock: Option<TableLock>,
}

impl DatabaseWatcher {
    pub fn new(store: Store) -> Self {
        Self { store, line: None, answered: Instant::now(), found_lock: None }
    }

    /// Keeps the availability of the database up to date; runs until it is dropped.
    pub async fn watch(mut self) {
        loop {
            self.look().await;
            sleep(QUESTION_PAUSE).await;
        }
    }

    async fn look(&mut self) {
        let (store, answered) = (self.store.clone(), self.answered);
        let lose = || {
            if store.availability.lost(answered) {
                // Connections that hang are left behind, and broken ones are never used again.
                store.renew();
            }
        };
        let found = {
            let mut asked = Box::pin(self.ask());
            if let Ok(found) = timeout(ANSWER_TIMEOUT, &mut asked).await {
                found
            } else {
                lose();
                // A database that was only paused answers when it resumes.
                timeout(GIVEN_UP, asked).await.unwrap_or(false)
            }
        };
        if found {
            self.answered = Instant::now();
            self.store.availability.found();
            self.look_for_locks().await;
        } else {
            lose();
        }
    }

    async fn look_for_locks(&mut self) {
        let found = match &mut self.line {
            None => return,
            Some(WatcherConnection::Postgres(line)) => timeout(ANSWER_TIMEOUT, TableLock::find_on_table(line)).await,
            Some(WatcherConnection::Sqlite(line)) => {
                // While this process writes itself, no other does.
                let Some(_turn) = self.store.write.try_turn() else { return };
                timeout(ANSWER_TIMEOUT, TableLock::find_on_file(line)).await
            }
        };
        // A question that fails is repeated the next time, when the connection was checked.
        let Ok(Ok(lock)) = found else {
            self.line = None;
            return;
        };
        let before = std::mem::replace(&mut self.found_lock, lock.clone());
        self.store.table_locks.set(lock.filter(|lock| before.as_ref() == Some(lock)));
    }

    /// True if the database answers. An error of an old connection proves nothing, so a new one is opened.
    async fn ask(&mut self) -> bool {
        if let Some(mut line) = self.line.take()
            && self.ask_on(&mut line).await.is_ok()
        {
            self.line = Some(line);
            return true;
        }
        let asked = async {
            let mut line = self.connect().await?;
            self.ask_on(&mut line).await?;
            Ok::<_, sqlx::Error>(line)
        };
        match asked.await {
            Ok(line) => {
                self.line = Some(line);
                true
            }
            // The server answers, but refuses the connection.
            Err(error) => {
                TransientFault::of(&DbErr::Query(RuntimeErr::SqlxError(error.into())))
                    != Some(TransientFault::Unreachable)
            }
        }
    }

    async fn connect(&self) -> sqlx::Result<WatcherConnection> {
        Ok(match &*self.store.watched_address {
            WatchedAddress::Postgres(source) => WatcherConnection::Postgres(source.watch().await?),
            WatchedAddress::Sqlite(options) => {
                WatcherConnection::Sqlite(options.clone().create_if_missing(false).connect().await?)
            }
        })
    }

    async fn ask_on(&self, line: &mut WatcherConnection) -> sqlx::Result<()> {
        match line {
            WatcherConnection::Postgres(line) => {
                line.ping().await?;
                if let (WatchedAddress::Postgres(source), Some(_)) =
                    (&*self.store.watched_address, self.store.availability.silence())
                {
                    source.end_left_behind(line).await;
                }
            }
            // The smallest statement that reads the file.
            WatcherConnection::Sqlite(line) => {
                line.execute("PRAGMA schema_version").await?;
            }
        }
        Ok(())
    }
}
