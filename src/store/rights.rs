//! The rights of a `PostgreSQL` user in the database. Since version 15 only the owner of a database may create tables in the
//! schema `public`.

use sea_orm::sqlx::postgres::PgDatabaseError;
use sea_orm::{ConnectionTrait, DbBackend, DbErr, RuntimeErr, Statement, sqlx};

use super::{Result, StoreError};

/// The rights of the user of a connection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DatabaseRights {
    pub user: String,
    /// The schema in which tables are created; `None`: the user may use none.
    schema: Option<String>,
    may_make_tables: bool,
    /// The number of tables in the schema that the user may not both read and write.
    closed_tables: i64,
}

const RIGHTS_SQL: &str = "\
    SELECT current_user::text AS name, current_schema()::text AS schema, \
    coalesce(has_schema_privilege(current_schema(), 'CREATE'), false) AS may_create, \
    (SELECT count(*) FROM pg_class t WHERE t.relnamespace = to_regnamespace(quote_ident(current_schema())) \
        AND t.relkind IN ('r', 'p') AND NOT (has_table_privilege(t.oid, 'SELECT') AND has_table_privilege(t.oid, 'INSERT') \
        AND has_table_privilege(t.oid, 'UPDATE') AND has_table_privilege(t.oid, 'DELETE'))) AS closed";

impl DatabaseRights {
    /// The rights of the connection's user; `None`: the database is `SQLite`.
    #[tracing::instrument(name = "db.rights.of", level = "debug", skip_all, err(level = "debug"))]
    pub async fn of(db: &impl ConnectionTrait) -> Result<Option<Self>> {
        if db.get_database_backend() != DbBackend::Postgres {
            return Ok(None);
        }
        let asked = Statement::from_string(DbBackend::Postgres, RIGHTS_SQL);
        let Some(row) = db.query_one_raw(asked).await? else { return Ok(None) };
        Ok(Some(Self {
            user: row.try_get("", "name")?,
            schema: row.try_get("", "schema")?,
            may_make_tables: row.try_get("", "may_create")?,
            closed_tables: row.try_get("", "closed")?,
        }))
    }

    /// A message about the missing rights, and the SQL that grants them.
    pub fn lacking(&self) -> Option<(String, String)> {
        let Self { user, schema, may_make_tables, closed_tables } = self;
        let (schema, name) = (quote_name(schema.as_deref().unwrap_or("public")), quote_name(user));
        let run = |sql: String| format!("as the owner of the database or a superuser, run in this database: {sql}");
        if !may_make_tables {
            let detail = format!(
                "permission denied for schema {schema}: the database user {user:?} may not make tables there; since PostgreSQL 15 \
                 only the owner of a database may"
            );
            return Some((detail, run(format!("GRANT USAGE, CREATE ON SCHEMA {schema} TO {name};"))));
        }
        if *closed_tables > 0 {
            let detail =
                format!("{closed_tables} tables of the schema {schema} are closed to the database user {user:?}");
            return Some((
                detail,
                run(format!("GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA {schema} TO {name};")),
            ));
        }
        None
    }
}

/// A name in SQL: quoted unless it is plain.
fn quote_name(name: &str) -> String {
    let is_plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_';
    let plain = name.starts_with(|c: char| c.is_ascii_lowercase()) && name.chars().all(is_plain);
    if plain { name.to_owned() } else { format!("\"{}\"", name.replace('"', "\"\"")) }
}

/// Adds the missing rights and their remedy to an error that was caused by missing rights.
pub(super) async fn explain(db: &impl ConnectionTrait, error: StoreError) -> StoreError {
    if !is_denied(&error) {
        return error;
    }
    let rights = DatabaseRights::of(db).await.ok().flatten();
    match rights.as_ref().and_then(DatabaseRights::lacking) {
        Some((detail, remedy)) => StoreError::Unusable(format!("{detail}; {remedy}")),
        None => error,
    }
}

/// True for `insufficient_privilege` (appendix A of the manual of PostgreSQL).
fn is_denied(error: &StoreError) -> bool {
    let (StoreError::Database(source) | StoreError::Unavailable { source, .. }) = error else { return false };
    let (DbErr::Exec(RuntimeErr::SqlxError(error))
    | DbErr::Query(RuntimeErr::SqlxError(error))
    | DbErr::Conn(RuntimeErr::SqlxError(error))) = source
    else {
        return false;
    };
    match &**error {
        sqlx::Error::Database(error) => {
            error.try_downcast_ref::<PgDatabaseError>().is_some() && error.code().is_some_and(|code| code == "42501")
        }
        _ => false,
    }
}
