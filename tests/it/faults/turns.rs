//! A client with many reads leaves turns to others.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use futures::TryStreamExt;
use sea_orm::{DbBackend, Statement, StreamTrait};
use tokio::task::yield_now;

use crate::support::database;

/// The number of rows that fit into the buffers of a socket.
const ROWS: usize = 2_000;

/// This test has one thread.
#[tokio::test]
async fn rows_that_have_all_arrived_do_not_keep_their_thread() {
    let db = database::postgres().await;
    let store = db.store().await;
    let asked = Statement::from_string(DbBackend::Postgres, format!("SELECT n FROM generate_series(1, {ROWS}) n"));
    let mut rows = store.read().stream_raw(asked).await.unwrap();
    rows.try_next().await.unwrap().unwrap();
    db.until_no_session_works().await;
    let turns = Arc::new(AtomicUsize::new(0));
    let other = tokio::spawn({
        let turns = Arc::clone(&turns);
        async move {
            loop {
                turns.fetch_add(1, Ordering::Relaxed);
                yield_now().await;
            }
        }
    });
    let rest: Vec<_> = rows.try_collect().await.unwrap();
    other.abort();
    assert_eq!(rest.len(), ROWS - 1);
    let turns = turns.load(Ordering::Relaxed);
    assert!(turns >= ROWS / 256, "{turns} turns");
}
