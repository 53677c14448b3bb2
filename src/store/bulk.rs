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
/// Rows of one statement, past which nothing is won.
const SQLITE_ROWS: usize = 500;
const POSTGRES_ROWS: usize = 10_000;

type Column<A> = <<A as ActiveModelTrait>::Entity as EntityTrait>::Column;

/// Inserts rows with all columns set, with one rule for those that exist. No key may come twice.
pub async fn insert<A>(db: &impl ConnectionTrait, rows: Vec<A>, on_conflict: Option<OnConflict>) -> Result<()>
where
    A: ActiveModelTrait + Send,
{
    let backend = db.get_database_backend();
    let columns: Vec<Column<A>> = Column::<A>::iter().collect();
    let most = match backend {
        DbBackend::Postgres => POSTGRES_ROWS,
        _ => (SQLITE_BIND_LIMIT / columns.len().max(1)).clamp(1, SQLITE_ROWS),
    };
    let mut rows = rows.into_iter();
    let mut sql = String::new();
    let mut built_for = 0;
    while rows.len() > 0 {
        let count = rows.len().min(most);
        if built_for != count {
            sql = build::<A>(backend, &columns, count, on_conflict.as_ref())?;
            built_for = count;
        }
        let values = match backend {
            DbBackend::Postgres => arrays(&columns, rows.by_ref().take(count))?,
            _ => rows.by_ref().take(count).flat_map(|row| cells(&columns, row)).collect(),
        };
        db.execute_raw(Statement::from_sql_and_values(backend, sql.as_str(), values)).await?;
    }
    Ok(())
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

/// A row's values in the order of `columns`; what is not set is null.
fn cells<A: ActiveModelTrait>(columns: &[Column<A>], mut row: A) -> Vec<Value> {
    columns.iter().map(|column| row.take(*column).into_value().unwrap_or(Value::Int(None))).collect()
}

/// One array for each column, in `PostgreSQL`'s notation, which allows nulls in every type.
fn arrays<A: ActiveModelTrait>(columns: &[Column<A>], rows: impl Iterator<Item = A>) -> Result<Vec<Value>> {
    let mut arrays = vec![String::from("{"); columns.len()];
    for mut row in rows {
        for (array, column) in arrays.iter_mut().zip(columns) {
            if array.len() > 1 {
                array.push(',');
            }
            push_element(array, row.take(*column).into_value())?;
        }
    }
    Ok(arrays.into_iter().map(|array| (array + "}").into()).collect())
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
