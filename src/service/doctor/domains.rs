//! The check `domains`: projects that imports without domains have left in the domain `unknown`.

use futures::FutureExt;
use futures::future::BoxFuture;

use super::{Check, CheckOutcome, CheckSubject, MAX_NAMED, list_names};
use crate::domain::names::UNKNOWN_DOMAIN;
use crate::service::Result;

pub(super) struct DomainsCheck;

impl Check for DomainsCheck {
    fn name(&self) -> &'static str {
        "domains"
    }

    fn examine<'a>(&'a self, subject: &'a CheckSubject<'a>) -> BoxFuture<'a, Result<CheckOutcome>> {
        async move { Ok(examine(subject)) }.boxed()
    }
}

fn examine(subject: &CheckSubject<'_>) -> CheckOutcome {
    let people = subject.service.people();
    let is_seen = |id| {
        subject.caller.principal.groups.is_none()
            || subject.groups.iter().any(|group| group.facts.rows.project(id).is_some())
    };
    let unplaced = people.projects().filter(|project| {
        *project.domain_name == *UNKNOWN_DOMAIN && project.archived_at.is_none() && is_seen(project.id)
    });
    let mut names: Vec<String> = unplaced.map(|project| project.shown_or_id()).collect();
    if names.is_empty() {
        return CheckOutcome::ok("every project has a domain");
    }
    names.sort_unstable();
    let count = names.len();
    CheckOutcome::warning(
        format!(
            "{count} in the domain `{UNKNOWN_DOMAIN}`, so that weights of domains do not reach them: {}",
            list_names(&names, MAX_NAMED)
        ),
        "put them into their domains: `fairshared projects set NAME --domain DOMAIN`, or import again with `--domain-map FILE`",
    )
}
