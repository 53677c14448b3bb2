//! The check `schema`: the database has the schema of this version.

use futures::FutureExt;
use futures::future::BoxFuture;

use super::{Check, CheckOutcome, Subject};
use crate::service::Result;

pub const NAME: &str = "schema";

pub(super) struct SchemaVersion;

impl Check for SchemaVersion {
    fn name(&self) -> &'static str {
        NAME
    }

    fn examine<'a>(&'a self, subject: &'a Subject<'a>) -> BoxFuture<'a, Result<CheckOutcome>> {
        async move {
            let schema = subject.service.store().schema().await?;
            Ok(finding(schema.applied.len(), &schema.pending))
        }
        .boxed()
    }
}

/// The outcome if `applied` migrations are applied, and those in `pending` are not.
pub fn finding(applied: usize, pending: &[String]) -> CheckOutcome {
    match pending.first() {
        None => CheckOutcome::ok(format!("all {applied} migrations are applied")),
        Some(first) => {
            let lacking = pending.len();
            let detail = format!("the database lacks {lacking} migrations, from {first} on");
            CheckOutcome::fault(
                detail,
                "`fairshared migrate up` applies them; make a backup first: `fairshared backup`",
            )
        }
    }
}
