//! The check `rights`: the rights of the user of a `PostgreSQL` database.

use futures::FutureExt;
use futures::future::BoxFuture;

use super::{Check, CheckOutcome, CheckSubject};
use crate::service::Result;
use crate::store::rights::DatabaseRights as Rights;

pub const CHECK_NAME: &str = "rights";

pub(super) struct RightsCheck;

impl Check for RightsCheck {
    fn name(&self) -> &'static str {
        CHECK_NAME
    }

    fn examine<'a>(&'a self, subject: &'a CheckSubject<'a>) -> BoxFuture<'a, Result<CheckOutcome>> {
        async move { Ok(rights_outcome(Rights::of(subject.service.store().read()).await?)) }.boxed()
    }
}

/// The outcome for the rights; `None` for `SQLite`, which has none.
pub fn rights_outcome(rights: Option<Rights>) -> CheckOutcome {
    match rights {
        None => CheckOutcome::ok("the database is a file of this server: its rights are those of the file"),
        Some(rights) => match rights.lacking() {
            None => CheckOutcome::ok(format!("the database user {:?} may do all that is needed", rights.user)),
            Some((detail, remedy)) => CheckOutcome::fault(detail, remedy),
        },
    }
}
