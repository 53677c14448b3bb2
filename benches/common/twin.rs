//! Floors of writes: the same rows inserted into a twin of a table, which has as many rows, with raw SQL in one transaction.

#![allow(clippy::disallowed_methods, reason = "the floor is raw SQL")]

use std::time::Duration;

use fairshared::store::Store;
use sea_orm::sqlx::{self, Arguments, AssertSqlSafe, Row};
use sea_orm::{ConnectionTrait, DbBackend};
use uuid::Uuid;

use super::timed_async;

pub const KERNELS: &str = "kernels";
pub const CURSORS: &str = "kernel_cursors";
pub const USER_SHARES: &str = "user_fair_shares";
/// The table of usage records, and its column with the end of each.
pub const RECORDS: &str = "usage_slices";
pub const RECORD_END: &str = "period_end";

/// A copy of a table with its columns, keys and indexes.
pub struct Twin {
    table: &'static str,
    columns: Vec<(String, Kind)>,
}

/// The type of a column.
#[derive(Clone, Copy)]
enum Kind {
    Uuid,
    Text,
    Big,
    Int,
    Bool,
    Double,
    Bytes,
}

/// The values of one column of all rows.
enum Column {
    Uuid(Vec<Option<Uuid>>),
    Text(Vec<Option<String>>),
    Big(Vec<Option<i64>>),
    Int(Vec<Option<i32>>),
    Bool(Vec<Option<bool>>),
    Double(Vec<Option<f64>>),
    Bytes(Vec<Option<Vec<u8>>>),
}

/// Does the same with the values of a column of any type.
macro_rules! each {
    ($column:expr, $values:ident => $work:expr) => {
        match $column {
            Column::Uuid($values) => $work,
            Column::Text($values) => $work,
            Column::Big($values) => $work,
            Column::Int($values) => $work,
            Column::Bool($values) => $work,
            Column::Double($values) => $work,
            Column::Bytes($values) => $work,
        }
    };
}

/// Rows that can be inserted again.
pub struct Rows(Vec<Column>);

impl Rows {
    pub fn len(&self) -> usize {
        self.0.first().map_or(0, |column| each!(column, values => values.len()))
    }
}

/// Rows of one statement on SQLite.
const ROWS: usize = 500;

impl Twin {
    /// A twin with the rows that the table has now, so that its indexes have the same size.
    pub async fn full(store: &Store, table: &'static str) -> Self {
        let twin = Self::empty(store, table).await;
        twin.fill(store, &twin.names()).await;
        twin
    }

    /// A twin with as many rows as the table, all of a group that does not exist.
    pub async fn of_another_group(store: &Store, table: &'static str) -> Self {
        let twin = Self::empty(store, table).await;
        twin.fill(store, &twin.names().replace("resource_group", "'another ' || resource_group")).await;
        twin
    }

    /// Fills the twin with `values` of all rows of the table.
    async fn fill(&self, store: &Store, values: &str) {
        let (table, names) = (self.table, self.names());
        let copy = format!("INSERT INTO twin_{table} ({names}) SELECT {values} FROM {table}");
        store.write().execute_unprepared(&copy).await.unwrap();
    }

    /// A twin without rows.
    async fn empty(store: &Store, table: &'static str) -> Self {
        let statements = if is_sqlite(store) {
            definitions(store, table).await
        } else {
            let mut statements = vec![format!("CREATE TABLE twin_{table} (LIKE {table} INCLUDING ALL)")];
            statements.extend(parameters(store, table).await);
            statements
        };
        for statement in statements {
            store.write().execute_unprepared(&statement).await.unwrap();
        }
        Self { table, columns: columns(store, table).await }
    }

    fn names(&self) -> String {
        self.columns.iter().map(|(name, _)| name.as_str()).collect::<Vec<_>>().join(", ")
    }

    /// The rows of the table that are not in the twin.
    pub async fn lacking(&self, store: &Store) -> Rows {
        let (names, table) = (self.names(), self.table);
        self.read(store, format!("SELECT {names} FROM {table} EXCEPT SELECT {names} FROM twin_{table} ORDER BY 1"))
            .await
    }

    /// The rows of the table that meet `condition`, which is SQL.
    pub async fn rows(&self, store: &Store, condition: &str) -> Rows {
        let sql = format!("SELECT {} FROM {} WHERE {condition} ORDER BY 1", self.names(), self.table);
        self.read(store, sql).await
    }

    async fn read(&self, store: &Store, sql: String) -> Rows {
        macro_rules! read {
            ($pool:expr) => {{
                let rows = sqlx::query(AssertSqlSafe(sql)).fetch_all($pool).await.unwrap();
                macro_rules! column {
                    ($kind:ident, $at:expr) => {
                        Column::$kind(rows.iter().map(|row| row.get($at)).collect())
                    };
                }
                let column = |(at, (_, kind)): (usize, &(String, Kind))| match kind {
                    Kind::Uuid => column!(Uuid, at),
                    Kind::Text => column!(Text, at),
                    Kind::Big => column!(Big, at),
                    Kind::Int => column!(Int, at),
                    Kind::Bool => column!(Bool, at),
                    Kind::Double => column!(Double, at),
                    Kind::Bytes => column!(Bytes, at),
                };
                Rows(self.columns.iter().enumerate().map(column).collect())
            }};
        }
        if is_sqlite(store) {
            read!(store.write().pool().get_sqlite_connection_pool())
        } else {
            read!(store.write().pool().get_postgres_connection_pool())
        }
    }

    /// Inserts `rows` into the twin in one transaction: many rows in a prepared statement on SQLite, one statement over
    /// arrays on PostgreSQL.
    pub async fn insert(&self, store: &Store, rows: &Rows) -> Duration {
        if is_sqlite(store) {
            timed_async(self.insert_sqlite(store, rows)).await
        } else {
            timed_async(self.insert_postgres(store, rows)).await
        }
    }

    async fn insert_sqlite(&self, store: &Store, rows: &Rows) {
        let mut transaction = store.write().pool().get_sqlite_connection_pool().begin().await.unwrap();
        let count = rows.len();
        let one = format!("({})", vec!["?"; self.columns.len()].join(", "));
        let mut at = 0;
        while at < count {
            let part = ROWS.min(count - at);
            let values = vec![one.as_str(); part].join(", ");
            let sql = format!("INSERT INTO twin_{} ({}) VALUES {values}", self.table, self.names());
            let mut arguments = sqlx::sqlite::SqliteArguments::default();
            for row in at..at + part {
                for column in &rows.0 {
                    each!(column, values => arguments.add(&values[row])).unwrap();
                }
            }
            sqlx::query_with(AssertSqlSafe(sql), arguments).execute(&mut *transaction).await.unwrap();
            at += part;
        }
        transaction.commit().await.unwrap();
    }

    async fn insert_postgres(&self, store: &Store, rows: &Rows) {
        let mut transaction = store.write().pool().get_postgres_connection_pool().begin().await.unwrap();
        let array = |(at, (_, kind)): (usize, &(String, Kind))| format!("${}::{}[]", at + 1, kind.of_postgres());
        let arrays: Vec<String> = self.columns.iter().enumerate().map(array).collect();
        let arrays = arrays.join(", ");
        let sql = format!("INSERT INTO twin_{} ({}) SELECT * FROM UNNEST({arrays})", self.table, self.names());
        let mut query = sqlx::query(AssertSqlSafe(sql));
        for column in &rows.0 {
            query = each!(column, values => query.bind(values));
        }
        query.execute(&mut *transaction).await.unwrap();
        transaction.commit().await.unwrap();
    }
}

impl Kind {
    /// The kind of the type with which a column was declared. SQLite stores integers of any size in a column of any integer
    /// type.
    fn of(declared: &str, is_sqlite: bool) -> Self {
        let declared = declared.to_ascii_lowercase();
        let is = |part: &str| declared.contains(part);
        match () {
            () if is("uuid") => Self::Uuid,
            () if is("bigint") || is("int8") || (is_sqlite && is("int")) => Self::Big,
            () if is("int") => Self::Int,
            () if is("bool") => Self::Bool,
            () if is("double") || is("real") || is("float8") => Self::Double,
            () if is("blob") || is("bytea") => Self::Bytes,
            () => Self::Text,
        }
    }

    fn of_postgres(self) -> &'static str {
        match self {
            Self::Uuid => "uuid",
            Self::Text => "text",
            Self::Big => "bigint",
            Self::Int => "integer",
            Self::Bool => "boolean",
            Self::Double => "double precision",
            Self::Bytes => "bytea",
        }
    }
}

fn is_sqlite(store: &Store) -> bool {
    store.backend() == DbBackend::Sqlite
}

/// The names and types of a table's columns, in their order.
async fn columns(store: &Store, table: &str) -> Vec<(String, Kind)> {
    macro_rules! columns {
        ($pool:expr, $sql:literal) => {{
            let rows = sqlx::query($sql).bind(table).fetch_all($pool).await.unwrap();
            rows.iter()
                .map(|row| (row.get::<String, _>(0), Kind::of(&row.get::<String, _>(1), is_sqlite(store))))
                .collect()
        }};
    }
    if is_sqlite(store) {
        let pool = store.write().pool();
        columns!(pool.get_sqlite_connection_pool(), "SELECT name, type FROM pragma_table_info($1) ORDER BY cid")
    } else {
        let pool = store.write().pool();
        columns!(
            pool.get_postgres_connection_pool(),
            "SELECT column_name::text, udt_name::text FROM information_schema.columns \
             WHERE table_schema = current_schema() AND table_name = $1 ORDER BY ordinal_position"
        )
    }
}

/// The SQL that gives a twin the storage parameters of the table on PostgreSQL, if it has any.
async fn parameters(store: &Store, table: &str) -> Option<String> {
    let sql = "SELECT array_to_string(reloptions, ', ') FROM pg_class WHERE oid = $1::regclass";
    let pool = store.write().pool();
    let asked = sqlx::query(sql).bind(table).fetch_one(pool.get_postgres_connection_pool());
    let found: Option<String> = asked.await.unwrap().get(0);
    found.map(|parameters| format!("ALTER TABLE twin_{table} SET ({parameters})"))
}

/// The SQL that creates a twin of the table and of its indexes on SQLite.
async fn definitions(store: &Store, table: &str) -> Vec<String> {
    let pool = store.write().pool();
    let found = sqlx::query("SELECT name, sql FROM sqlite_master WHERE tbl_name = $1 AND sql IS NOT NULL")
        .bind(table)
        .fetch_all(pool.get_sqlite_connection_pool())
        .await
        .unwrap();
    let definition = |row: &sqlx::sqlite::SqliteRow| {
        let (name, sql): (String, String) = (row.get(0), row.get(1));
        // The definition of the table contains the table's name; that of an index contains its own and the table's.
        [name.as_str(), table].into_iter().fold(sql, |sql, name| renamed(&sql, name))
    };
    found.iter().map(definition).collect()
}

/// `sql` with `name` replaced by the name of its twin, with or without quotes.
fn renamed(sql: &str, name: &str) -> String {
    let quoted = sql.replace(&format!("\"{name}\""), &format!("\"twin_{name}\""));
    quoted.replace(&format!(" {name} "), &format!(" twin_{name} "))
}
