//! The check `writes`: conditions under which the service refuses writes, or answers from memory.

use futures::FutureExt;
use futures::future::BoxFuture;

use super::{Check, Finding, Subject};
use crate::service::Result;

pub(super) struct Writes;

impl Check for Writes {
    fn name(&self) -> &'static str {
        "writes"
    }

    fn examine<'a>(&'a self, subject: &'a Subject<'a>) -> BoxFuture<'a, Result<Finding>> {
        async move { Ok(examine(subject)) }.boxed()
    }
}

fn examine(subject: &Subject<'_>) -> Finding {
    match subject.service.health.refuses_writes() {
        None => Finding::ok("writes are taken"),
        Some(condition) => {
            let remedy =
                format!("remove the cause: {} in docs/OPERATIONS.md, \"When writes are refused\"", condition.code);
            Finding::fault(condition.detail, remedy)
        }
    }
}
