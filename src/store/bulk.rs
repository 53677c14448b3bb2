//! Many rows in few statements.
//!
//! Statements are built once and used for every part of the rows, because building and parsing them
//! costs more than binding. `SQLite` gets lists of rows; `PostgreSQL` gets one array for each
//! column, which it plans far faster than as many parameters.

use std::fmt::Write;

use sea_orm::sea_query::{Expr, OnConflict, Query};
use sea_orm::{
    ActiveModelTrait, ColumnTrait, ColumnType, ConnectionTrait, DbBackend, DbErr, EntityTrait, Iterable, Statement,
    Value,
};

use super::Result;

/// `SQLite`'s limit on values in one statement.
const SQLITE_BIND_LIMIT: usize = 32_766;
/// Rows of one statement.
const SQLITE_ROWS: usize = 500;
const POSTGRES_ROWS: usize = 5_000;
/// A part is sent on while the next is made: it is longer than a socket takes at once.
const ROWS_BETWEEN_YIELDS: usize = 200;

type Column<A> = <<A as ActiveModelTrait>::Entity as EntityTrait>::Column;

/// Inserts rows with all columns set, with one rule for those that exist. No key may come twice. Returns
/// how many rows were inserted or changed.
pub async fn insert<A>(db: &impl ConnectionTrait, rows: Vec<A>, on_conflict: Option<OnConflict>) -> Result<u64>
where
    A: ActiveModelTrait + Send,
{
    let mut parts = Parts {
        backend: db.get_database_backend(),
        columns: Column::<A>::iter().collect(),
        rows: rows.into_iter(),
        on_conflict,
        built: None,
    };
    let mut written = 0;
    let mut next = parts.next().await?;
    while let Some(statement) = next {
        // The database works on one part while the next is made.
        let (sent, following) = futures::future::join(db.execute_raw(statement), parts.next()).await;
        written += sent?.rows_affected();
        next = following?;
    }
    Ok(written)
}

/// Rows on their way into statements.
struct Parts<A: ActiveModelTrait> {
    backend: DbBackend,
    columns: Vec<Column<A>>,
    rows: std::vec::IntoIter<A>,
    on_conflict: Option<OnConflict>,
    /// The last statement and how many rows it takes.
    built: Option<(usize, String)>,
}

impl<A: ActiveModelTrait + Send> Parts<A> {
    async fn next(&mut self) -> Result<Option<Statement>> {
        let (count, values) = match self.backend {
            DbBackend::Postgres => self.arrays().await?,
            _ => self.cells(),
        };
        if count == 0 {
            return Ok(None);
        }
        let sql = match self.built.take() {
            Some((rows, sql)) if rows == count || self.backend == DbBackend::Postgres => sql,
            _ => build::<A>(self.backend, &self.columns, count, self.on_conflict.as_ref())?,
        };
        let statement = Statement::from_sql_and_values(self.backend, sql.as_str(), values);
        self.built = Some((count, sql));
        Ok(Some(statement))
    }

    /// The values of the next rows, one after the other; what is not set is null.
    fn cells(&mut self) -> (usize, Vec<Value>) {
        let most = (SQLITE_BIND_LIMIT / self.columns.len().max(1)).clamp(1, SQLITE_ROWS);
        let mut values = Vec::with_capacity(most * self.columns.len());
        for mut row in self.rows.by_ref().take(most) {
            values.extend(self.columns.iter().map(|c| row.take(*c).into_value().unwrap_or(Value::Int(None))));
        }
        (values.len() / self.columns.len().max(1), values)
    }

    /// The next rows as one array for each column, in `PostgreSQL`'s notation, which allows nulls in every type.
    async fn arrays(&mut self) -> Result<(usize, Vec<Value>)> {
        let mut arrays = vec![String::from("{"); self.columns.len()];
        let mut count: usize = 0;
        for mut row in self.rows.by_ref().take(POSTGRES_ROWS) {
            for (array, column) in arrays.iter_mut().zip(&self.columns) {
                if count > 0 {
                    array.push(',');
                }
                push_element(array, row.take(*column).into_value())?;
            }
            count += 1;
            if count.is_multiple_of(ROWS_BETWEEN_YIELDS) {
                tokio::task::yield_now().await;
            }
        }
        Ok((count, arrays.into_iter().map(|array| (array + "}").into()).collect()))
    }
}

fn build<A: ActiveModelTrait>(
    backend: DbBackend,
    columns: &[Column<A>],
    rows: usize,
    on_conflict: Option<&OnConflict>,
) -> Result<String> {
    let mut insert = Query::insert();
    insert.into_table(A::Entity::default()).columns(columns.iter().copied());
    let refused = |e: sea_orm::sea_query::error::Error| DbErr::Custom(e.to_string());
    if backend == DbBackend::Postgres {
        let mut select = Query::select();
        for (n, column) in (1..).zip(columns) {
            select.expr(Expr::cust(format!("UNNEST(${n}::text::{}[])", type_name(*column)?)));
        }
        insert.select_from(select).map_err(refused)?;
    } else {
        for _ in 0..rows {
            insert.values(columns.iter().map(|_| Expr::cust("?"))).map_err(refused)?;
        }
    }
    if let Some(rule) = on_conflict {
        insert.on_conflict(rule.clone());
    }
    Ok(backend.build(&insert).sql)
}

fn type_name(column: impl ColumnTrait) -> Result<&'static str> {
    Ok(match column.def().get_column_type() {
        ColumnType::Uuid => "uuid",
        ColumnType::BigInteger => "bigint",
        ColumnType::Integer => "integer",
        ColumnType::Boolean => "boolean",
        ColumnType::Double => "double precision",
        ColumnType::Text | ColumnType::String(_) => "text",
        other => return Err(DbErr::Type(format!("no bulk insert of {other:?}")).into()),
    })
}

fn push_element(array: &mut String, value: Option<Value>) -> Result<()> {
    // Writing to a text cannot fail.
    let _ = match value {
        Some(Value::Uuid(Some(id))) => write!(array, "{}", id.simple()),
        Some(Value::BigInt(Some(n))) => write!(array, "{n}"),
        Some(Value::Int(Some(n))) => write!(array, "{n}"),
        Some(Value::Bool(Some(b))) => write!(array, "{b}"),
        Some(Value::Double(Some(d))) => write!(array, "{d:e}"),
        Some(Value::String(Some(text))) => {
            push_quoted(array, &text);
            Ok(())
        }
        None
        | Some(
            Value::Uuid(None)
            | Value::BigInt(None)
            | Value::Int(None)
            | Value::Bool(None)
            | Value::Double(None)
            | Value::String(None),
        ) => {
            array.push_str("NULL");
            Ok(())
        }
        Some(other) => return Err(DbErr::Type(format!("no bulk insert of {other:?}")).into()),
    };
    Ok(())
}

fn push_quoted(array: &mut String, text: &str) {
    array.push('"');
    let mut rest = text;
    while let Some(at) = rest.find(['"', '\\']) {
        array.push_str(&rest[..at]);
        array.push('\\');
        array.push_str(&rest[at..=at]);
        rest = &rest[at + 1..];
    }
    array.push_str(rest);
    array.push('"');
}
