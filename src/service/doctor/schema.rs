//! The check `schema`: the database has the schema of this version.

use futures::FutureExt;
use futures::future::BoxFuture;
use sea_orm::DbBackend;

use super::{Check, CheckOutcome, CheckSubject};
use crate::service::Result;

pub const CHECK_NAME: &str = "schema";

pub(super) struct SchemaVersion;

impl Check for SchemaVersion {
    fn name(&self) -> &'static str {
        CHECK_NAME
    }

    fn examine<'a>(&'a self, subject: &'a CheckSubject<'a>) -> BoxFuture<'a, Result<CheckOutcome>> {
        async move {
            let schema = subject.service.store().schema().await?;
            Ok(schema_outcome(&schema.pending, subject.service.store().backend()))
        }
        .boxed()
    }
}

/// The outcome if the migrations in `pending` are not applied.
pub fn schema_outcome(pending: &[String], backend: DbBackend) -> CheckOutcome {
    let Some(first) = pending.first() else { return CheckOutcome::ok("every migration is applied") };
    let detail = format!("the database lacks the migrations from {first} on");
    let backup = if backend == DbBackend::Postgres { "pg_dump" } else { "fairshared backup FILE" };
    CheckOutcome::fault(detail, format!("`fairshared migrate up` applies them; make a backup first: `{backup}`"))
}
