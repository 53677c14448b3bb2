//! The check `rights`: what the user of a `PostgreSQL` database may do.

use futures::FutureExt;
use futures::future::BoxFuture;

use super::{Check, Finding, Subject};
use crate::service::Result;
use crate::store::rights::DatabaseRights as Rights;

pub const NAME: &str = "rights";

pub(super) struct DatabaseRights;

impl Check for DatabaseRights {
    fn name(&self) -> &'static str {
        NAME
    }

    fn examine<'a>(&'a self, subject: &'a Subject<'a>) -> BoxFuture<'a, Result<Finding>> {
        async move { Ok(finding(Rights::of(subject.service.store().read()).await?)) }.boxed()
    }
}

/// What the rights mean; none are known of `SQLite`.
pub fn finding(rights: Option<Rights>) -> Finding {
    match rights {
        None => Finding::ok("the database is a file of this server: its rights are those of the file"),
        Some(rights) => match rights.lacking() {
            None => Finding::ok(format!("the database user {:?} may do all that is needed", rights.user)),
            Some((detail, remedy)) => Finding::fault(detail, remedy),
        },
    }
}
