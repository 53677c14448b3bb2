//! The errors of the store.

use std::io;
use std::sync::Arc;

use sea_orm::{DbErr, RuntimeErr, sqlx};
use tokio::task::JoinError;

use super::fault::TransientFault;

#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// A later attempt may succeed.
    #[error("{fault}: {source}")]
    Unavailable { fault: TransientFault, source: DbErr },
    #[error("database: {0}")]
    Database(#[source] DbErr),
    #[error("stored data is damaged: {0}")]
    Damaged(String),
    /// The text does not contain the password.
    #[error("{0}")]
    Address(String),
    /// The database cannot be opened; the text has the reason.
    #[error("{0}")]
    Unusable(String),
    #[error(
        "the database was made by a newer version of fairshared: this one does not know the migrations {names}; run the \
         newer version, or revert them with its `fairshared migrate down`", names = .0.join(", ")
    )]
    NewerSchema(Vec<String>),
    #[error(
        "the database was made by version 0.1 of fairshared and lacks its last migrations, from {0} on; run `fairshared \
         migrate up` of the last version 0.1 first, and this version takes the database over then"
    )]
    OlderSchema(String),
}

impl StoreError {
    /// True if it makes sense to wait for the database.
    pub fn may_pass_soon(&self) -> bool {
        matches!(self, Self::Unavailable { fault: TransientFault::Unreachable | TransientFault::Busy, .. })
    }

    /// The same error; damage is said to be that of `place`.
    #[must_use]
    pub fn at_place(self, place: &str) -> Self {
        match self {
            Self::Damaged(detail) => Self::Damaged(format!("{place}: {detail}")),
            other => other,
        }
    }
}

impl From<io::Error> for StoreError {
    /// The error of a file beside the database.
    fn from(error: io::Error) -> Self {
        DbErr::Conn(RuntimeErr::SqlxError(Arc::new(sqlx::Error::Io(error)))).into()
    }
}

impl From<DbErr> for StoreError {
    fn from(error: DbErr) -> Self {
        match TransientFault::of(&error) {
            Some(fault) => Self::Unavailable { fault, source: error },
            None => Self::Database(error),
        }
    }
}

impl From<JoinError> for StoreError {
    /// The panic of a task that decodes rows.
    fn from(error: JoinError) -> Self {
        DbErr::Custom(error.to_string()).into()
    }
}

pub type Result<T> = std::result::Result<T, StoreError>;
