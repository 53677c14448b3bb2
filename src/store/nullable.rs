//! Columns that are mostly empty.

use sea_orm::sqlx::{Decode, Postgres, Row, Sqlite, Type};
use sea_orm::{ColIdx, DbErr, QueryResult, RuntimeErr, TryGetError, TryGetable};

/// A column that may be `NULL`. For an `Option` the ORM builds an error with the name of the column whenever it finds
/// `NULL`, and then drops it, which takes longer than reading the rest of the row.
pub struct NullableColumn<T>(pub Option<T>);

impl<T> TryGetable for NullableColumn<T>
where
    T: Type<Postgres> + Type<Sqlite> + for<'r> Decode<'r, Postgres> + for<'r> Decode<'r, Sqlite>,
{
    fn try_get_by<I: ColIdx>(row: &QueryResult, index: I) -> Result<Self, TryGetError> {
        let read = match (row.try_as_pg_row(), row.try_as_sqlite_row()) {
            (Some(row), _) => row.try_get(index.as_sqlx_postgres_index()),
            (_, Some(row)) => row.try_get(index.as_sqlx_sqlite_index()),
            _ => Ok(None),
        };
        read.map(Self).map_err(|error| DbErr::Query(RuntimeErr::SqlxError(error.into())).into())
    }
}
