//! On `PostgreSQL` rows that every run rewrites have free space on their page, so that no index changes.

use super::partitions::texts;
use crate::support::database;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn tables_that_runs_rewrite_have_pages_that_are_half_empty() {
    let db = database::postgres().await;
    let sql = "SELECT relname::text FROM pg_class WHERE 'fillfactor=45' = ANY (reloptions) ORDER BY 1";
    let with_room = texts(db.store().await.read(), sql).await;
    let rewritten = [
        "day_totals",
        "domain_fair_shares",
        "domain_usage_buckets",
        "project_fair_shares",
        "project_usage_buckets",
        "user_fair_shares",
        "user_usage_buckets",
    ];
    assert_eq!(with_room, rewritten);
}
