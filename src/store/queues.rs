//! Queues as configured by admins. Every key of a queue is a column; the stored form follows from the type of its value.

use std::collections::BTreeMap;
use std::fmt::Display;
use std::sync::Arc;

use sea_orm::sea_query::{Alias, Expr, ExprTrait, OnConflict, Query};
use sea_orm::{ColumnTrait, ConnectionTrait, DbErr, EntityTrait, QueryFilter, QueryResult, Value};
use serde::{Deserialize, Serialize};

use super::entity::queue::{Column, Entity};
use super::{Result, StoreError, decode};
use crate::domain::decimal::Amount;
use crate::domain::queues::{OverQuotaBy, OverQuotaWeight, QueueConfig, QueueMode, queue_keys};
use crate::domain::slots::SlotMap;
use crate::domain::time::Timestamp;

const QUEUES_TABLE: &str = "queues";
/// Rows of one statement, so that their values stay below the limits of both databases.
const STATEMENT_ROWS: usize = 500;

/// The form of a value in a column.
trait StoredColumn: Sized {
    fn to_column(&self) -> Value;
    fn from_column(row: &QueryResult, column: &str) -> Result<Self>;
}

/// Values that are stored without conversion.
macro_rules! as_they_are {
    ($($type:ty)*) => {$(
        impl StoredColumn for $type {
            #[allow(clippy::clone_on_copy, reason = "some of the types cannot be copied")]
            fn to_column(&self) -> Value {
                self.clone().into()
            }
            fn from_column(row: &QueryResult, column: &str) -> Result<Self> {
                Ok(row.try_get("", column)?)
            }
        }
    )*};
}
as_they_are!(Option<String> i32 bool);

/// Decimals and names of variants, which are stored as their texts in JSON.
macro_rules! as_json_texts {
    ($($type:ty)*) => {$(
        impl StoredColumn for $type {
            fn to_column(&self) -> Value {
                json_text(self).into()
            }
            fn from_column(row: &QueryResult, column: &str) -> Result<Self> {
                from_json_text(row.try_get("", column)?)
            }
        }
    )*};
}
as_json_texts!(Amount QueueMode OverQuotaBy);

fn json_text(value: &impl Serialize) -> String {
    match serde_json::to_value(value) {
        Ok(serde_json::Value::String(text)) => text,
        _ => String::new(),
    }
}

fn from_json_text<T: for<'de> Deserialize<'de>>(stored: String) -> Result<T> {
    serde_json::from_value(stored.into()).map_err(|e| StoreError::Damaged(format!("queue: {e}")))
}

/// Seconds.
impl StoredColumn for Option<u64> {
    fn to_column(&self) -> Value {
        self.map(|seconds| i64::try_from(seconds).unwrap_or(i64::MAX)).into()
    }
    fn from_column(row: &QueryResult, column: &str) -> Result<Self> {
        Ok(row.try_get::<Option<i64>>("", column)?.map(i64::unsigned_abs))
    }
}

impl StoredColumn for Option<Timestamp> {
    fn to_column(&self) -> Value {
        self.map(Timestamp::micros).into()
    }
    fn from_column(row: &QueryResult, column: &str) -> Result<Self> {
        Ok(row.try_get::<Option<i64>>("", column)?.map(Timestamp::from_micros))
    }
}

impl<V: Copy + Display + for<'de> Deserialize<'de>> StoredColumn for SlotMap<V> {
    fn to_column(&self) -> Value {
        self.to_json().into()
    }
    fn from_column(row: &QueryResult, column: &str) -> Result<Self> {
        decode::slots(&row.try_get::<String>("", column)?)
    }
}

impl StoredColumn for OverQuotaWeight {
    fn to_column(&self) -> Value {
        serde_json::to_string(self).unwrap_or_default().into()
    }
    fn from_column(row: &QueryResult, column: &str) -> Result<Self> {
        let stored: String = row.try_get("", column)?;
        // Stored slot names are accepted however many there are, as in every stored map.
        if stored.starts_with('{') { decode::slots(&stored).map(Self::BySlot) } else { decode::json(&stored) }
    }
}

/// The column of a key. `LIMIT` is a keyword of SQL.
fn column(key: &'static str) -> &'static str {
    if key == "limit" { "limits" } else { key }
}

macro_rules! row {
    ($($(#[$schema:meta])* $key:ident: $type:ty = $default:expr, $config:tt $simulation:tt $output:tt $input:tt;)*) => {
        const KEYS: &[&str] = &[$(stringify!($key)),*];

        fn values(queue: &QueueConfig) -> Vec<Value> {
            vec![$(queue.$key.to_column()),*]
        }

        fn queue(row: &QueryResult) -> Result<QueueConfig> {
            Ok(QueueConfig {
                name: row.try_get("", "name")?,
                $($key: StoredColumn::from_column(row, column(stringify!($key)))?,)*
            })
        }
    };
}
queue_keys!(row);

/// All queues of a group by name.
#[tracing::instrument(name = "db.queues.list", level = "debug", skip_all, fields(group), err(level = "debug"))]
pub async fn list(db: &impl ConnectionTrait, group: &str) -> Result<BTreeMap<Arc<str>, Arc<QueueConfig>>> {
    let mut select = Query::select();
    select.from(QUEUES_TABLE).column("name").and_where(Expr::col(Alias::new("resource_group")).eq(group));
    for key in KEYS {
        select.column(column(key));
    }
    let rows = db.query_all(&select).await?;
    rows.iter().map(|row| queue(row).map(|q| (Arc::from(q.name.as_str()), Arc::new(q)))).collect()
}

/// Creates or replaces queues, whose `created_at` must be set.
#[tracing::instrument(name = "db.queues.upsert", level = "debug", skip_all, fields(group), err(level = "debug"))]
pub async fn upsert(db: &impl ConnectionTrait, group: &str, queues: &[Arc<QueueConfig>], now: Timestamp) -> Result<()> {
    let keys = || KEYS.iter().map(|key| Alias::new(column(key)));
    let refused = |error: sea_orm::sea_query::error::Error| DbErr::Custom(error.to_string());
    for part in queues.chunks(STATEMENT_ROWS) {
        let mut insert = Query::insert();
        let columns = ["resource_group", "name", "updated_at"].map(Alias::new);
        insert.into_table(QUEUES_TABLE).columns(columns.into_iter().chain(keys()));
        for queue in part {
            let own: [Value; 3] = [group.into(), queue.name.as_str().into(), now.micros().into()];
            insert.values(own.into_iter().chain(values(queue)).map(Expr::value)).map_err(refused)?;
        }
        let mut replace = OnConflict::columns(["resource_group", "name"].map(Alias::new));
        replace.update_columns(keys().chain([Alias::new("updated_at")]));
        insert.on_conflict(replace);
        db.execute(&insert).await?;
    }
    Ok(())
}

/// Removes the named queues.
#[tracing::instrument(name = "db.queues.delete", level = "debug", skip_all, fields(group), err(level = "debug"))]
pub async fn delete(db: &impl ConnectionTrait, group: &str, names: &[Arc<str>]) -> Result<()> {
    for part in names.chunks(10_000) {
        Entity::delete_many()
            .filter(Column::ResourceGroup.eq(group))
            .filter(Column::Name.is_in(part.iter().map(|n| &**n)))
            .exec(db)
            .await?;
    }
    Ok(())
}
