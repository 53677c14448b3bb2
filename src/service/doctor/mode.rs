//! The check `mode`: the mode of sequences.

use futures::FutureExt;
use futures::future::BoxFuture;

use super::{Check, CheckOutcome, CheckSubject, MAX_NAMED, list_names};
use crate::domain::options::SequenceMode;
use crate::service::Result;

pub(super) struct ModeCheck;

impl Check for ModeCheck {
    fn name(&self) -> &'static str {
        "mode"
    }

    fn examine<'a>(&'a self, subject: &'a CheckSubject<'a>) -> BoxFuture<'a, Result<CheckOutcome>> {
        async move { Ok(examine(subject)) }.boxed()
    }
}

fn examine(subject: &CheckSubject<'_>) -> CheckOutcome {
    let is_progressive = |mode| mode == SequenceMode::Progressive;
    let without_effect = subject.names(|group| {
        is_progressive(group.facts.options.sequence_mode) && group.facts.scheduler.progressive().is_none()
    });
    if !without_effect.is_empty() {
        return CheckOutcome::warning(
            format!(
                "`sequence_mode` is progressive, and the scheduler has no such order: {}",
                list_names(&without_effect, MAX_NAMED)
            ),
            "choose another scheduler, as `fairshared options set GROUP scheduler=fairshare`, or `sequence_mode=plain`",
        );
    }
    let of =
        |progressive: bool| subject.names(|group| is_progressive(group.facts.options.sequence_mode) == progressive);
    let say =
        |names: &[String], what: &str| (!names.is_empty()).then(|| format!("{what}: {}", list_names(names, MAX_NAMED)));
    let (plain, progressive) = (of(false), of(true));
    let parts = [
        say(&progressive, "progressive, where what runs and what is placed counts at once"),
        say(&plain, "plain, where only recorded usage counts"),
    ];
    let parts: Vec<String> = parts.into_iter().flatten().collect();
    CheckOutcome::ok(if parts.is_empty() { "there is no resource group".to_owned() } else { parts.join("; ") })
}
