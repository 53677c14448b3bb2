//! Asks the database all the time whether it is there, on a connection of its own, so that a busy database is told from
//! one that is away: other statements may wait for a lock, but never for a database that does not answer.

use std::time::Duration;

use sea_orm::sqlx::postgres::PgConnection;
use sea_orm::sqlx::sqlite::{SqliteConnectOptions, SqliteConnection};
use sea_orm::sqlx::{self, ConnectOptions, Connection, Executor};
use sea_orm::{DbErr, RuntimeErr};
use tokio::time::{Instant, sleep, timeout};

use super::Store;
use super::fault::Fault;
use super::postgres::Source;
use super::table_locks::TableLock;

/// Between an answer and the next question.
const EVERY: Duration = Duration::from_millis(400);
/// A question that is not answered for so long means that the database is out of reach.
const LATE: Duration = Duration::from_millis(1_200);
/// A connection that has not answered for so long after that is given up.
const GIVEN_UP: Duration = Duration::from_secs(4);

/// Where the database is.
pub enum Home {
    Postgres(Source),
    Sqlite(SqliteConnectOptions),
}

/// A connection to ask on.
enum Line {
    Postgres(PgConnection),
    Sqlite(SqliteConnection),
}

pub struct Watcher {
    store: Store,
    line: Option<Line>,
    answered: Instant,
    /// The lock that was found the last time; one that is found twice is believed, because many are short.
    found_lock: Option<TableLock>,
}

impl Watcher {
    pub fn new(store: Store) -> Self {
        Self { store, line: None, answered: Instant::now(), found_lock: None }
    }

    /// Notes what becomes of the database; never ends by itself.
    pub async fn watch(mut self) {
        loop {
            self.look().await;
            sleep(EVERY).await;
        }
    }

    async fn look(&mut self) {
        let (store, answered) = (self.store.clone(), self.answered);
        let lose = || {
            if store.reach.lost(answered) {
                // What hangs is left behind, and a connection that broke is never used again.
                store.renew();
            }
        };
        let found = {
            let mut asked = Box::pin(self.ask());
            if let Ok(found) = timeout(LATE, &mut asked).await {
                found
            } else {
                lose();
                // One that was only paused answers when it goes on.
                timeout(GIVEN_UP, asked).await.unwrap_or(false)
            }
        };
        if found {
            self.answered = Instant::now();
            self.store.reach.found();
            self.look_for_locks().await;
        } else {
            lose();
        }
    }

    async fn look_for_locks(&mut self) {
        let Some(Line::Postgres(line)) = &mut self.line else { return };
        // A question that fails is asked again the next time, when the connection was checked.
        let Ok(Ok(lock)) = timeout(LATE, TableLock::find(line)).await else {
            self.line = None;
            return;
        };
        let before = std::mem::replace(&mut self.found_lock, lock.clone());
        self.store.table_locks.set(lock.filter(|lock| before.as_ref() == Some(lock)));
    }

    /// Whether the database answers. A connection that broke says nothing of it: a new one does.
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
            // It answers that it does not want this connection.
            Err(error) => Fault::of(&DbErr::Query(RuntimeErr::SqlxError(error.into()))) != Some(Fault::Unreachable),
        }
    }

    async fn connect(&self) -> sqlx::Result<Line> {
        Ok(match &*self.store.home {
            Home::Postgres(source) => Line::Postgres(source.watch().await?),
            Home::Sqlite(options) => Line::Sqlite(options.clone().create_if_missing(false).connect().await?),
        })
    }

    async fn ask_on(&self, line: &mut Line) -> sqlx::Result<()> {
        match line {
            Line::Postgres(line) => {
                line.ping().await?;
                if let (Home::Postgres(source), Some(_)) = (&*self.store.home, self.store.reach.silence()) {
                    source.end_left_behind(line).await;
                }
            }
            // The least that reads the file.
            Line::Sqlite(line) => {
                line.execute("PRAGMA schema_version").await?;
            }
        }
        Ok(())
    }
}
