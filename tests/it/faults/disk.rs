//! A disk that is full, and then has space again.

use reqwest::Method;
use serde_json::Value;
use tempfile::TempDir;

use super::support::{Limit, Reporter, Space, Tmpfs, sqlite_url, start};
use crate::cli::program::{end, over};
use crate::support::fixture::GROUP;

/// The server refuses writes that do not fit, answers reads, and recovers by itself. It is also stopped, and killed twice.
async fn nothing_acknowledged_is_lost(space: &impl Space) {
    let mut reporter = Reporter::new(sqlite_url(&space.folder().join("fairshared.db")));
    let server = start(&reporter.url, &reporter.log);
    reporter.make_group(&server).await;
    reporter.report_some(&server, 5).await;

    space.take(&server);
    let (refused, answer) = reporter.report_until_refused(&server).await;
    assert_eq!((answer.status, &answer.body["code"]), (503, &Value::from("storage_full")), "{answer:?}");
    assert!(answer.retry_after.is_some());
    reporter.until_ready_says(&server, "storage_full", true).await;
    reporter.log.until_says(&["the service is degraded", "storage_full"]).await;
    for _ in 0..3 {
        reporter.assert_answers(&server).await;
        let kernels = format!("/resource-groups/{GROUP}/kernels");
        let read = reporter.call(&server, Method::GET, &kernels, &Value::Null).await;
        assert_eq!(read.status, 200, "{read:?}");
        // The same report, and other ones: whatever is answered is true.
        assert!([200, 503].contains(&reporter.report(&server, &refused).await.status));
        assert!([200, 503].contains(&reporter.report_another(&server).await.1.status));
    }

    space.give_back(&server);
    assert_eq!(reporter.report(&server, &refused).await.status, 200);
    reporter.report_some(&server, 20).await;
    // No other writer finds the database locked.
    end(over(&reporter.url).args(["keys", "create", "--role", "viewer", "--label", "another"])).ok();
    reporter.assert_stored().await;
    reporter.until_ready_says(&server, "storage_full", false).await;
    reporter.log.until_says(&["the condition is over", "storage_full"]).await;

    // It ends while the disk is full: what cannot be moved into the file stays in the log.
    space.take(&server);
    reporter.report_until_refused(&server).await;
    server.signal("TERM");
    assert_eq!(server.wait(), Some(0));
    let server = restarted(space, &reporter).await;
    reporter.assert_stored().await;

    // It is killed while the disk is full, and just after there was space again.
    space.take(&server);
    reporter.report_until_refused(&server).await;
    server.kill();
    let server = restarted(space, &reporter).await;
    reporter.assert_stored().await;
    space.take(&server);
    let (refused, _) = reporter.report_until_refused(&server).await;
    space.give_back(&server);
    assert_eq!(reporter.report(&server, &refused).await.status, 200);
    reporter.report_some(&server, 5).await;
    server.kill();
    reporter.assert_stored().await;
}

/// Another server, with space again.
async fn restarted(space: &impl Space, reporter: &Reporter) -> crate::cli::program::Server {
    // A ballast outlives the server that it was made for; a limit does not.
    let _ = std::fs::remove_file(space.folder().join("ballast"));
    let server = start(&reporter.url, &reporter.log);
    reporter.assert_answers(&server).await;
    server
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_limit_of_file_sizes_loses_nothing() {
    nothing_acknowledged_is_lost(&Limit(TempDir::new().unwrap())).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_full_file_system_loses_nothing() {
    if let Some(space) = Tmpfs::mount() {
        nothing_acknowledged_is_lost(&space).await;
    }
}
