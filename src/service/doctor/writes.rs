//! The check `writes`: conditions under which the service refuses writes, or answers from memory.

use futures::FutureExt;
use futures::future::BoxFuture;

use super::{Check, CheckOutcome, CheckSubject};
use crate::service::Result;

pub(super) struct WriteAvailability;

impl Check for WriteAvailability {
    fn name(&self) -> &'static str {
        "writes"
    }

    fn examine<'a>(&'a self, subject: &'a CheckSubject<'a>) -> BoxFuture<'a, Result<CheckOutcome>> {
        async move { Ok(examine(subject)) }.boxed()
    }
}

fn examine(subject: &CheckSubject<'_>) -> CheckOutcome {
    match subject.service.health.refuses_writes() {
        None => CheckOutcome::ok("writes are taken"),
        Some(condition) => {
            let remedy =
                format!("remove the cause: {} in docs/OPERATIONS.md, \"When writes are refused\"", condition.code);
            CheckOutcome::fault(condition.detail, remedy)
        }
    }
}
