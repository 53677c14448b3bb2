//! Writes of many rows in few statements.
//!
//! A commit may store thousands of rows. In the inserts of the ORM every value is a parameter of its own, which `PostgreSQL`
//! plans slowly, and the text of the statement is built again for each part of the rows.
//!
//! Therefore rows are written in parts of a few hundred to a thousand. `SQLite` gets lists of rows, up to its limit of
//! parameters. `PostgreSQL` gets one array for each column, because it plans many parameters far slower. The text of a
//! statement is built once and used for all parts with the same shape.
//!
//! This is not a loader with commits of its own: all statements of a call belong to the caller's transaction.
//!
//! Invariants:
//! - Every column of a row is written; a column without a value becomes `NULL`.
//! - No key occurs twice in one call.
//! - After an error the caller must abandon the transaction, because some parts may be written.
//!
//! [`one_of()`] is the counterpart for reads: a condition with many ids.

mod array_text;
mod one_of;

use sea_orm::sea_query::{ArrayType, Expr, OnConflict, Query};
use sea_orm::{
    ActiveModelTrait, ColumnTrait, ColumnType, ConnectionTrait, DbBackend, DbErr, EntityTrait, Iterable, Statement,
    Value,
};

use super::Result;
use array_text::{array_text, is_set};
pub use one_of::{MAX_IDS, one_of, one_of_place};

/// The limit of `SQLite` on values in one statement.
const SQLITE_BIND_LIMIT: usize = 32_766;
const SQLITE_ROWS_PER_STATEMENT: usize = 500;
const POSTGRES_ROWS_PER_STATEMENT: usize = 1_250;

type Column<A> = <<A as ActiveModelTrait>::Entity as EntityTrait>::Column;

/// Inserts rows with all columns set; `on_conflict` is the rule for rows that exist. No key may occur twice. Returns the
/// number of rows that were inserted or changed. After an error the caller must abandon the transaction, because some rows
/// may be written.
pub async fn insert<A, I>(db: &impl ConnectionTrait, mut rows: I, on_conflict: Option<OnConflict>) -> Result<u64>
where
    A: ActiveModelTrait + Send,
    I: Iterator<Item = A> + Send,
{
    let columns: Vec<Column<A>> = Column::<A>::iter().collect();
    let backend = db.get_database_backend();
    let most = match backend {
        DbBackend::Postgres => POSTGRES_ROWS_PER_STATEMENT,
        _ => (SQLITE_BIND_LIMIT / columns.len().max(1)).clamp(1, SQLITE_ROWS_PER_STATEMENT),
    };
    let mut last_built: Option<(StatementShape, String)> = None;
    let mut written = 0;
    loop {
        let part: Vec<Vec<Value>> = rows.by_ref().take(most).map(|row| values_of(row, &columns)).collect();
        if part.is_empty() {
            return Ok(written);
        }
        let (shape, values) = match backend {
            DbBackend::Postgres => as_arrays(part, &columns)?,
            _ => (StatementShape::Rows(part.len()), part.into_iter().flatten().collect()),
        };
        let (shape, sql) = match last_built.take() {
            Some(built) if built.0 == shape => built,
            _ => {
                let sql = build_insert::<A>(backend, &columns, &shape, on_conflict.as_ref())?;
                (shape, sql)
            }
        };
        written += db.execute_raw(Statement::from_sql_and_values(backend, &sql, values)).await?.rows_affected();
        last_built = Some((shape, sql));
    }
}

/// Inserts rows with all columns set. Rows whose `key` exists get the new values of `columns`. No key may occur twice.
pub async fn replace<A, I>(db: &impl ConnectionTrait, rows: I, key: &[Column<A>], columns: &[Column<A>]) -> Result<u64>
where
    A: ActiveModelTrait + Send,
    I: Iterator<Item = A> + Send,
{
    let rule = OnConflict::columns(key.iter().copied()).update_columns(columns.iter().copied()).to_owned();
    insert(db, rows, Some(rule)).await
}

/// The properties of a part of the rows that determine the statement's text.
#[derive(PartialEq)]
enum StatementShape {
    /// The number of rows of single values, for `SQLite`.
    Rows(usize),
    /// The form of each column's values, for `PostgreSQL`.
    Arrays(Vec<ArrayForm>),
}

#[derive(Clone, Copy, PartialEq)]
enum ArrayForm {
    Array,
    /// An array as text, because the driver sends no arrays with nulls.
    Text,
}

/// The values of a row in the order of `columns`; null for those that are not set.
fn values_of<A: ActiveModelTrait>(mut row: A, columns: &[Column<A>]) -> Vec<Value> {
    let null = || Value::Int(None);
    columns.iter().map(|column| row.take(*column).into_value().unwrap_or_else(null)).collect()
}

/// Turns rows into one value for each column, which holds the values of all rows.
fn as_arrays<C: ColumnTrait>(rows: Vec<Vec<Value>>, columns: &[C]) -> Result<(StatementShape, Vec<Value>)> {
    let mut by_column: Vec<Vec<Value>> = columns.iter().map(|_| Vec::with_capacity(rows.len())).collect();
    for row in rows {
        for (cells, value) in by_column.iter_mut().zip(row) {
            cells.push(value);
        }
    }
    let (mut forms, mut values) = (Vec::with_capacity(columns.len()), Vec::with_capacity(columns.len()));
    for (cells, column) in by_column.into_iter().zip(columns) {
        if cells.iter().all(is_set) {
            forms.push(ArrayForm::Array);
            values.push(Value::Array(column_types(*column)?.1, Some(Box::new(cells))));
        } else {
            forms.push(ArrayForm::Text);
            values.push(array_text(cells)?.into());
        }
    }
    Ok((StatementShape::Arrays(forms), values))
}

fn build_insert<A: ActiveModelTrait>(
    backend: DbBackend,
    columns: &[Column<A>],
    shape: &StatementShape,
    on_conflict: Option<&OnConflict>,
) -> Result<String> {
    let mut insert = Query::insert();
    insert.into_table(A::Entity::default()).columns(columns.iter().copied());
    let refused = |error: sea_orm::sea_query::error::Error| DbErr::Custom(error.to_string());
    match shape {
        StatementShape::Arrays(forms) => {
            let mut select = Query::select();
            for ((n, column), form) in (1..).zip(columns).zip(forms) {
                let (kind, _) = column_types(*column)?;
                let text = if *form == ArrayForm::Text { "::text" } else { "" };
                // The inner SELECT hides the number of rows from the planner, as in `one_of`.
                select.expr_as(Expr::cust(format!("UNNEST((SELECT ${n}{text}::{kind}[]))")), *column);
            }
            insert.select_from(select).map_err(refused)?;
        }
        StatementShape::Rows(rows) => {
            for _ in 0..*rows {
                insert.values(columns.iter().map(|_| Expr::cust("?"))).map_err(refused)?;
            }
        }
    }
    if let Some(rule) = on_conflict {
        insert.on_conflict(rule.clone());
    }
    Ok(backend.build(&insert).sql)
}

/// The names of a column's type in `PostgreSQL` and in its driver.
fn column_types(column: impl ColumnTrait) -> Result<(&'static str, ArrayType)> {
    Ok(match column.def().get_column_type() {
        ColumnType::Uuid => ("uuid", ArrayType::Uuid),
        ColumnType::BigInteger => ("bigint", ArrayType::BigInt),
        ColumnType::Integer => ("integer", ArrayType::Int),
        ColumnType::Boolean => ("boolean", ArrayType::Bool),
        ColumnType::Double => ("double precision", ArrayType::Double),
        ColumnType::Text | ColumnType::String(_) => ("text", ArrayType::String),
        other => return Err(DbErr::Type(format!("no bulk insert of {other:?}")).into()),
    })
}
