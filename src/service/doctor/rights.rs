//! The check `rights`: the rights of the user of a `PostgreSQL` database.

use futures::FutureExt;
use futures::future::BoxFuture;

use super::{Check, CheckOutcome, Subject};
use crate::service::Result;
use crate::store::rights::DatabaseRights as Rights;

pub const NAME: &str = "rights";

pub(super) struct DatabaseRights;

impl Check for DatabaseRights {
    fn name(&self) -> &'static str {
        NAME
    }

    fn examine<'a>(&'a self, subject: &'a Subject<'a>) -> BoxFuture<'a, Result<CheckOutcome>> {
        async move { Ok(finding(Rights::of(subject.service.store().read()).await?)) }.boxed()
    }
}

/// The outcome for the rights; `None` for `SQLite`, which has none.
pub fn finding(rights: Option<Rights>) -> CheckOutcome {
    match rights {
        None => CheckOutcome::ok("the database is a file of this server: its rights are those of the file"),
        Some(rights) => match rights.lacking() {
            None => CheckOutcome::ok(format!("the database user {:?} may do all that is needed", rights.user)),
            Some((detail, remedy)) => CheckOutcome::fault(detail, remedy),
        },
    }
}
