//! Connections to `PostgreSQL`.

use sea_orm::sqlx::postgres::{PgConnectOptions, PgConnection, PgPoolOptions};
use sea_orm::sqlx::{self, ConnectOptions, Connection};
use sea_orm::{DatabaseConnection, DbErr, RuntimeErr};

use super::{Result, pool_options};

const CONNECTIONS: u32 = 10;

pub async fn connect(options: PgConnectOptions) -> Result<DatabaseConnection> {
    let pool: PgPoolOptions = pool_options(CONNECTIONS);
    let pool = pool.after_release(|connection, _| {
        Box::pin(async move {
            end_transaction(connection).await?;
            Ok(true)
        })
    });
    let pool = pool.connect_with(options.disable_statement_logging()).await;
    Ok(pool.map_err(|error| DbErr::Conn(RuntimeErr::SqlxError(error.into())))?.into())
}

/// Rolls back what is open, and nothing else: the server would log a warning. A `begin` that was cancelled half-way
/// leaves a transaction that the driver does not count; it learns of it by a statement that does nothing.
async fn end_transaction(connection: &mut PgConnection) -> sqlx::Result<()> {
    match connection.begin_with("-- released").await {
        Ok(open) => open.rollback().await,
        Err(sqlx::Error::BeginFailed) => Ok(()),
        Err(error) => Err(error),
    }
}
