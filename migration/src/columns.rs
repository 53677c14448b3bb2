//! Columns by their type, and other parts of tables that several steps share. A column may be NULL only where its type says
//! so.

use sea_orm::DbBackend;
use sea_orm::sea_query::{ColumnDef, Index, IndexCreateStatement, Table, TableCreateStatement};

/// The most characters of a name that people give.
const NAME: u32 = 64;

/// Functions that make a column of a type that is never NULL.
macro_rules! never_null {
    ($($type:ident)*) => {$(
        pub fn $type(column: &'static str) -> ColumnDef {
            ColumnDef::new(column).$type().not_null().take()
        }
    )*};
}

/// Functions that make a column of a type that may be NULL.
macro_rules! nullable {
    ($($function:ident: $type:ident)*) => {$(
        pub fn $function(column: &'static str) -> ColumnDef {
            ColumnDef::new(column).$type().null().take()
        }
    )*};
}

never_null! { text integer big_integer double boolean uuid }
nullable! { text_null: text double_null: double integer_null: integer big_integer_null: big_integer uuid_null: uuid }

pub fn string_len(column: &'static str, length: u32) -> ColumnDef {
    ColumnDef::new(column).string_len(length).not_null().take()
}

pub fn string_len_null(column: &'static str, length: u32) -> ColumnDef {
    ColumnDef::new(column).string_len(length).null().take()
}

/// A name that people give.
pub fn name(column: &'static str) -> ColumnDef {
    string_len(column, NAME)
}

pub fn name_null(column: &'static str) -> ColumnDef {
    string_len_null(column, NAME)
}

/// A number that the database assigns to each new row.
pub fn serial(column: &'static str) -> ColumnDef {
    big_integer(column).auto_increment().primary_key().take()
}

/// A number that the program assigns to each new row. With the type `integer`, `SQLite` finds rows by it without an index.
pub fn row_key(column: &'static str, backend: DbBackend) -> ColumnDef {
    let mut key = if backend == DbBackend::Sqlite { integer(column) } else { big_integer(column) };
    key.primary_key().take()
}

/// A primary key of several columns.
pub fn primary(columns: &[&'static str]) -> IndexCreateStatement {
    let mut key = Index::create();
    for column in columns {
        key.col(*column);
    }
    key.primary().take()
}

/// A table that is to be created.
pub fn table(name: &'static str) -> TableCreateStatement {
    Table::create().table(name).take()
}

/// A table whose rows runs rewrite in place. Free space on their pages lets `PostgreSQL` keep the next version of a row beside
/// it, so that no index entry changes.
pub fn rewritten(mut table: TableCreateStatement, backend: DbBackend) -> TableCreateStatement {
    if backend == DbBackend::Postgres {
        table.extra("WITH (fillfactor = 45)");
    }
    table
}

/// A table whose rows `SQLite` stores in the primary key itself, because a key of several columns would be stored twice
/// otherwise.
pub fn in_its_key(mut table: TableCreateStatement, backend: DbBackend) -> TableCreateStatement {
    if backend == DbBackend::Sqlite {
        table.extra("WITHOUT ROWID");
    }
    table
}
