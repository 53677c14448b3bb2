//! Floors of writes: the same rows into a twin of a table, with raw SQL in one transaction.

#![allow(clippy::disallowed_methods, reason = "the floor is raw SQL")]

use std::time::Duration;

use fairshared::store::Store;
use sea_orm::sqlx::{self, Arguments, AssertSqlSafe, Row};
use sea_orm::{ConnectionTrait, DbBackend};
use uuid::Uuid;

use super::timed_async;

/// The values of one column of all rows.
pub enum Column {
    Uuid(Vec<Uuid>),
    Text(Vec<Option<String>>),
    Big(Vec<Option<i64>>),
    Int(Vec<Option<i32>>),
    Bool(Vec<bool>),
    Double(Vec<f64>),
}

/// A table whose rows can be copied and inserted again.
pub struct Table {
    pub name: &'static str,
    /// Column names with the letter of their type: uuid, text, big, int, bool, double.
    pub columns: &'static [(&'static str, char)],
}

pub const RECORDS: Table = Table {
    name: "kernel_usage_records",
    columns: &[
        ("kernel_id", 'u'),
        ("period_start", 'l'),
        ("period_end", 'l'),
        ("session_id", 'u'),
        ("user_uuid", 'u'),
        ("project_id", 'u'),
        ("domain_name", 't'),
        ("resource_group", 't'),
        ("resource_usage", 't'),
    ],
};

pub const KERNELS: Table = Table {
    name: "kernels",
    columns: &[
        ("kernel_id", 'u'),
        ("resource_group", 't'),
        ("session_id", 'u'),
        ("user_uuid", 'u'),
        ("project_id", 'u'),
        ("domain_name", 't'),
        ("occupied_slots", 't'),
        ("status", 't'),
        ("started_at", 'l'),
        ("terminated_at", 'l'),
        ("agent_id", 't'),
        ("queue", 't'),
        ("priority", 'i'),
        ("preemptible", 'b'),
        ("critical", 'b'),
        ("gang_id", 't'),
        ("gang_min", 'i'),
        ("status_changes", 't'),
        ("end_inferred", 'b'),
    ],
};

pub const CURSORS: Table = Table {
    name: "kernel_cursors",
    columns: &[
        ("resource_group", 't'),
        ("kernel_id", 'u'),
        ("recorded_until", 'l'),
        ("in_step", 'b'),
        ("applied_changes", 't'),
        ("seen_at", 'l'),
    ],
};

pub const USER_SHARES: Table = Table {
    name: "user_fair_shares",
    columns: &[
        ("resource_group", 't'),
        ("user_uuid", 'u'),
        ("project_id", 'u'),
        ("weight", 'l'),
        ("total_decayed_usage", 't'),
        ("normalized_usage", 'd'),
        ("fair_share_factor", 'd'),
        ("created_at", 'l'),
        ("updated_at", 'l'),
    ],
};

impl Table {
    fn twin(&self) -> String {
        format!("twin_{}", self.name)
    }

    /// Makes an empty twin with the same columns, keys and indexes.
    pub async fn create_twin(&self, store: &Store) {
        let statements = if store.backend() == DbBackend::Sqlite {
            let pool = store.write().pool();
            let pool = pool.get_sqlite_connection_pool();
            let found = sqlx::query("SELECT sql FROM sqlite_master WHERE tbl_name = $1 AND sql IS NOT NULL")
                .bind(self.name)
                .fetch_all(pool)
                .await
                .unwrap();
            let rename = |sql: String| {
                let sql = sql.replace(&format!("\"{}\"", self.name), &format!("\"{}\"", self.twin()));
                sql.replace(&format!("ON {} ", self.name), &format!("ON {} ", self.twin())).replace("ix_", "twin_ix_")
            };
            found.iter().map(|row| rename(row.get::<String, _>(0))).collect()
        } else {
            vec![format!("CREATE TABLE {} (LIKE {} INCLUDING ALL)", self.twin(), self.name)]
        };
        for statement in statements {
            store.write().execute_unprepared(&statement).await.unwrap();
        }
    }

    /// Reads the rows that meet `condition`, which is SQL.
    pub async fn rows(&self, store: &Store, condition: &str) -> Vec<Column> {
        let names: Vec<&str> = self.columns.iter().map(|(name, _)| *name).collect();
        let sql = format!("SELECT {} FROM {} WHERE {condition} ORDER BY 1", names.join(", "), self.name);
        macro_rules! read {
            ($pool:expr) => {{
                let rows = sqlx::query(AssertSqlSafe(sql)).fetch_all($pool).await.unwrap();
                macro_rules! column {
                    ($kind:ident, $at:expr) => {
                        Column::$kind(rows.iter().map(|row| row.get($at)).collect())
                    };
                }
                let read = |(at, (_, kind)): (usize, &(&str, char))| match kind {
                    'u' => column!(Uuid, at),
                    'l' => column!(Big, at),
                    'i' => column!(Int, at),
                    'b' => column!(Bool, at),
                    'd' => column!(Double, at),
                    _ => column!(Text, at),
                };
                self.columns.iter().enumerate().map(read).collect()
            }};
        }
        if store.backend() == DbBackend::Sqlite {
            read!(store.write().pool().get_sqlite_connection_pool())
        } else {
            read!(store.write().pool().get_postgres_connection_pool())
        }
    }

    /// Inserts `rows` into the twin in one transaction: many rows in a prepared statement on SQLite,
    /// one statement over arrays on PostgreSQL.
    pub async fn insert(&self, store: &Store, rows: &[Column]) -> Duration {
        if store.backend() == DbBackend::Sqlite {
            timed_async(self.insert_sqlite(store, rows)).await
        } else {
            timed_async(self.insert_postgres(store, rows)).await
        }
    }

    async fn insert_sqlite(&self, store: &Store, rows: &[Column]) {
        let mut transaction = store.write().pool().get_sqlite_connection_pool().begin().await.unwrap();
        let count = len(&rows[0]);
        let mut at = 0;
        while at < count {
            let part = ROWS.min(count - at);
            let one = format!("({})", vec!["?"; self.columns.len()].join(", "));
            let sql = format!("INSERT INTO {} VALUES {}", self.ordered_twin(), vec![one; part].join(", "));
            let mut values = sqlx::sqlite::SqliteArguments::default();
            for row in at..at + part {
                for column in rows {
                    match column {
                        Column::Uuid(v) => values.add(v[row]),
                        Column::Text(v) => values.add(v[row].as_deref()),
                        Column::Big(v) => values.add(v[row]),
                        Column::Int(v) => values.add(v[row]),
                        Column::Bool(v) => values.add(v[row]),
                        Column::Double(v) => values.add(v[row]),
                    }
                    .unwrap();
                }
            }
            sqlx::query_with(AssertSqlSafe(sql), values).execute(&mut *transaction).await.unwrap();
            at += part;
        }
        transaction.commit().await.unwrap();
    }

    async fn insert_postgres(&self, store: &Store, rows: &[Column]) {
        let mut transaction = store.write().pool().get_postgres_connection_pool().begin().await.unwrap();
        let array = |(at, (_, kind)): (usize, &(&str, char))| {
            let kind = match kind {
                'u' => "uuid",
                'l' => "bigint",
                'i' => "integer",
                'b' => "boolean",
                'd' => "double precision",
                _ => "text",
            };
            format!("${}::{kind}[]", at + 1)
        };
        let arrays: Vec<String> = self.columns.iter().enumerate().map(array).collect();
        let sql = format!("INSERT INTO {} SELECT * FROM UNNEST({})", self.ordered_twin(), arrays.join(", "));
        let mut query = sqlx::query(AssertSqlSafe(sql));
        for column in rows {
            query = match column {
                Column::Uuid(v) => query.bind(v),
                Column::Text(v) => query.bind(v),
                Column::Big(v) => query.bind(v),
                Column::Int(v) => query.bind(v),
                Column::Bool(v) => query.bind(v),
                Column::Double(v) => query.bind(v),
            };
        }
        query.execute(&mut *transaction).await.unwrap();
        transaction.commit().await.unwrap();
    }

    fn ordered_twin(&self) -> String {
        let names: Vec<&str> = self.columns.iter().map(|(name, _)| *name).collect();
        format!("{} ({})", self.twin(), names.join(", "))
    }
}

/// Rows of one statement on SQLite.
const ROWS: usize = 500;

pub fn len(column: &Column) -> usize {
    match column {
        Column::Uuid(v) => v.len(),
        Column::Text(v) => v.len(),
        Column::Big(v) => v.len(),
        Column::Int(v) => v.len(),
        Column::Bool(v) => v.len(),
        Column::Double(v) => v.len(),
    }
}
