//! The check `options`: warnings about the options of groups that no other check covers.

use futures::FutureExt;
use futures::future::BoxFuture;

use super::{Check, CheckOutcome, CheckSubject, MAX_NAMED, list_names};
use crate::service::Result;

/// Codes of warnings that the checks `look_back`, `mode` and `capacity` cover.
const OF_OTHER_CHECKS: [&str; 2] = ["half_life_exceeds_lookback", "mode_without_effect"];

pub(super) struct GroupOptions;

impl Check for GroupOptions {
    fn name(&self) -> &'static str {
        "options"
    }

    fn examine<'a>(&'a self, subject: &'a CheckSubject<'a>) -> BoxFuture<'a, Result<CheckOutcome>> {
        async move { Ok(examine(subject)) }.boxed()
    }
}

fn examine(subject: &CheckSubject<'_>) -> CheckOutcome {
    let warnings = subject.groups.iter().flat_map(|group| {
        let warnings = group.facts.warnings().into_iter();
        let own = warnings.filter(|warning| !OF_OTHER_CHECKS.contains(&warning.code));
        own.map(|warning| format!("{}: {}", group.facts.name, warning.code))
    });
    let warnings: Vec<String> = warnings.collect();
    if warnings.is_empty() {
        return CheckOutcome::ok("no options look like a mistake");
    }
    CheckOutcome::warning(list_names(&warnings, MAX_NAMED), "`fairshared options get GROUP` says what each means")
}
