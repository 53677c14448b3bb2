//! The check `look_back`: half-lives that are longer than the look-back.

use futures::FutureExt;
use futures::future::BoxFuture;

use super::{Check, CheckOutcome, CheckSubject, MAX_NAMED, list_names};
use crate::service::Result;

pub(super) struct LookbackCheck;

impl Check for LookbackCheck {
    fn name(&self) -> &'static str {
        "look_back"
    }

    fn examine<'a>(&'a self, subject: &'a CheckSubject<'a>) -> BoxFuture<'a, Result<CheckOutcome>> {
        async move { Ok(examine(subject)) }.boxed()
    }
}

fn examine(subject: &CheckSubject<'_>) -> CheckOutcome {
    let short = subject.names(|group| group.facts.options.half_life_days > group.facts.options.lookback_days);
    if short.is_empty() {
        return CheckOutcome::ok("no half-life is longer than its look-back");
    }
    CheckOutcome::warning(
        format!(
            "the half-life is longer than the look-back, so that usage is forgotten all at once: {}",
            list_names(&short, MAX_NAMED)
        ),
        "choose a look-back of several half-lives: `fairshared options set GROUP lookback_days=28 half_life_days=7`",
    )
}
