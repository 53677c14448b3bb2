//! The check `look_back`: half-lives that are longer than the look-back.

use futures::FutureExt;
use futures::future::BoxFuture;

use super::{Check, CheckOutcome, NAMED, Subject, listed};
use crate::service::Result;

pub(super) struct Lookback;

impl Check for Lookback {
    fn name(&self) -> &'static str {
        "look_back"
    }

    fn examine<'a>(&'a self, subject: &'a Subject<'a>) -> BoxFuture<'a, Result<CheckOutcome>> {
        async move { Ok(examine(subject)) }.boxed()
    }
}

fn examine(subject: &Subject<'_>) -> CheckOutcome {
    let short = subject.names(|group| group.facts.options.half_life_days > group.facts.options.lookback_days);
    if short.is_empty() {
        return CheckOutcome::ok("no half-life is longer than its look-back");
    }
    CheckOutcome::warning(
        format!(
            "the half-life is longer than the look-back, so that usage is forgotten all at once: {}",
            listed(&short, NAMED)
        ),
        "choose a look-back of several half-lives: `fairshared options set GROUP lookback_days=28 half_life_days=7`",
    )
}
