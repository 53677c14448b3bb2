//! SIGKILL during the migration of an earlier version's data at a start.

use std::time::{Duration, Instant};

use super::compaction::{Tried, assert_used, some_days_ago};
use super::{Client, die_while_starting, draw};
use crate::cli::program::Server;
use crate::support::database::TestDb;
use crate::support::fixture::GROUP;
use crate::support::on_both;

/// The migration that puts records in the order of time, and so rewrites all of them.
const FIRST: &str = "m0008_time_order";

/// Goes back to the schema before [`FIRST`].
async fn go_back(db: &TestDb) {
    let store = db.store().await;
    let applied = store.schema().await.unwrap().applied;
    let at = applied.iter().position(|name| name.contains(FIRST)).unwrap();
    store.migrate_down(u32::try_from(applied.len() - at).unwrap()).await.unwrap();
    store.close().await.unwrap();
}

async fn lives_through(db: TestDb, tried: Tried) {
    some_days_ago(&db, tried.kernels).await;
    let client = Client::new(&db);
    go_back(&db).await;
    let whole = db.copy().await;
    let began = Instant::now();
    Server::over(&whole.url).kill();
    let takes = u64::try_from(began.elapsed().as_micros()).unwrap();
    let (mut seed, mut in_progress) = (20_260_111, 0);
    for _ in 0..tried.kills {
        let copy = db.copy().await;
        die_while_starting(&copy.url, Duration::from_micros(draw(&mut seed, takes))).await;
        let store = copy.store().await;
        in_progress += u64::from(!store.schema().await.unwrap().pending.is_empty());
        store.close().await.unwrap();
        let server = Server::over(&copy.url);
        // The reversal has lost the number of slices that each record stands for.
        client.run_job(&server.address, "rebuild", GROUP).await;
        assert_used(&client, &server.address, tried.used()).await;
        server.kill();
    }
    println!(
        "{} kernels: {in_progress} of {} servers were killed before all was carried over; usage exact, audits clean",
        tried.kernels, tried.kills
    );
}

on_both! {
    async fn killed_while_records_are_carried_over(db: TestDb) {
        lives_through(db, Tried { kernels: 200, kills: 4 }).await;
    }

    #[ignore = "long"]
    async fn long_killed_while_records_are_carried_over(db: TestDb) {
        lives_through(db, Tried { kernels: 10_000, kills: 40 }).await;
    }
}
