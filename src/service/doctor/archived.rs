//! The check `archived`: archived users, projects and domains whose kernels run, and which lists and rankings hide.

use std::collections::BTreeSet;

use futures::FutureExt;
use futures::future::BoxFuture;

use super::{Check, CheckOutcome, CheckSubject, MAX_NAMED, list_names};
use crate::domain::ids::Member;
use crate::domain::kernel::KernelPhase;
use crate::engine::people::PeopleDirectory;
use crate::service::Result;

pub(super) struct ArchivedCheck;

impl Check for ArchivedCheck {
    fn name(&self) -> &'static str {
        "archived"
    }

    fn examine<'a>(&'a self, subject: &'a CheckSubject<'a>) -> BoxFuture<'a, Result<CheckOutcome>> {
        examine(subject).boxed()
    }
}

async fn examine(subject: &CheckSubject<'_>) -> Result<CheckOutcome> {
    let mut owners: BTreeSet<Member> = BTreeSet::new();
    for group in &subject.groups {
        let kernels = subject.service.live_kernels(group).await?;
        owners.extend(kernels.iter().filter(|kernel| kernel.phase == KernelPhase::Running).map(|kernel| kernel.owner));
    }
    let archived = archived_owners(&subject.service.people(), &owners);
    if archived.is_empty() {
        return Ok(CheckOutcome::ok("no kernel of an archived user, project or domain runs"));
    }
    let names: Vec<String> = archived.into_iter().collect();
    Ok(CheckOutcome::warning(
        format!(
            "archived, and so hidden in lists and rankings, while their kernels run: {}",
            list_names(&names, MAX_NAMED)
        ),
        "show them again: `fairshared users archive NAME --undo`, and so for `projects` and `domains`; or end their kernels",
    ))
}

fn archived_owners(people: &PeopleDirectory, owners: &BTreeSet<Member>) -> BTreeSet<String> {
    let mut archived = BTreeSet::new();
    for Member { user, project } in owners {
        if let Some(user) = people.user(*user).filter(|user| user.archived_at.is_some()) {
            archived.insert(format!("the user {}", user.shown_or_id()));
        }
        let Some(project) = people.project(*project) else { continue };
        if project.archived_at.is_some() {
            archived.insert(format!("the project {}", project.shown_or_id()));
        }
        let domain = people.domain(&project.domain_name).filter(|domain| domain.archived_at.is_some());
        archived.extend(domain.map(|domain| format!("the domain {}", domain.name)));
    }
    archived
}
