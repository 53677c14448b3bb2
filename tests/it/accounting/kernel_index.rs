//! The index by which the kernels of a user are found.

use fairshared::store::Store;
use sea_orm::{ConnectionTrait, DbBackend, Statement};

use super::number;
use crate::support::fixture::{Fixture, id, kernel};
use crate::support::on_both;

/// The number of columns in the index.
async fn columns(store: &Store) -> i64 {
    let sql = match store.read().get_database_backend() {
        DbBackend::Postgres => "SELECT indnatts::bigint FROM pg_index WHERE indexrelid = 'ix_kernels_user'::regclass",
        _ => "SELECT COUNT(*) FROM pragma_index_info('ix_kernels_user')",
    };
    number(store, sql).await
}

/// The plan by which the database finds the keys of a user's kernels in their order, and the keys.
async fn found(store: &Store, user: &str) -> (String, Vec<i64>) {
    let db = store.read();
    let backend = db.get_database_backend();
    let sql = "SELECT kernel_key FROM kernels WHERE group_key = 1 AND user_uuid = $1 ORDER BY kernel_key";
    let ask = async |sql: &str| {
        db.query_all_raw(Statement::from_sql_and_values(backend, sql, [id(user).into()])).await.unwrap()
    };
    let keys = ask(sql).await.iter().map(|row| row.try_get("", "kernel_key").unwrap()).collect();
    let plan = match backend {
        DbBackend::Sqlite => ask(&format!("EXPLAIN QUERY PLAN {sql}")).await,
        _ => Vec::new(),
    };
    (plan.iter().map(|row| row.try_get::<String>("", "detail").unwrap() + "\n").collect(), keys)
}

on_both! {
    async fn it_has_what_finds_them_once(db: TestDb) {
        let f = Fixture::new(db, "2026-01-13T10:05:00Z").await;
        let users = ["ann", "bob", "ann", "cem", "ann"];
        let kernels = (0..).zip(users).map(|(n, user)| kernel(&format!("k{n}"), user, "ml", "2026-01-13T10:00:00Z"));
        f.ingest(&kernels.collect::<Vec<_>>()).await;
        let store = f.service.store().clone();
        let is_sqlite = store.read().get_database_backend() == DbBackend::Sqlite;
        let (plan, of_ann) = found(&store, "ann").await;
        assert!(of_ann.len() == 3 && of_ann.is_sorted(), "{of_ann:?}");
        assert_eq!(columns(&store).await, if is_sqlite { 2 } else { 3 });
        // The rows of kernels are not read, and nothing is sorted.
        let by_index = "SEARCH kernels USING COVERING INDEX ix_kernels_user (group_key=? AND user_uuid=?)\n";
        assert_eq!(plan, if is_sqlite { by_index } else { "" });
    }
}
