//! Reads a number from the database with SQL.

#![allow(clippy::disallowed_methods, reason = "what the database holds is asked in SQL")]

use fairshared::store::Store;
use sea_orm::sqlx::{self, Row};

use super::figure::{Database, On};

pub async fn number(store: &Store, on: On, sql: &str) -> f64 {
    let (pool, sql) = (store.write().pool(), sqlx::AssertSqlSafe(sql.to_owned()));
    match on {
        On::Fresh(Database::Sqlite) => {
            sqlx::query(sql).fetch_one(pool.get_sqlite_connection_pool()).await.unwrap().get(0)
        }
        _ => sqlx::query(sql).fetch_one(pool.get_postgres_connection_pool()).await.unwrap().get(0),
    }
}
