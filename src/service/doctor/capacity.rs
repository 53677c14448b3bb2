//! The check `capacity`: groups whose agents offer nothing.

use futures::FutureExt;
use futures::future::BoxFuture;

use super::{Check, CheckOutcome, CheckSubject, MAX_NAMED, list_names};
use crate::service::Result;

pub(super) struct CapacityCheck;

impl Check for CapacityCheck {
    fn name(&self) -> &'static str {
        "capacity"
    }

    fn examine<'a>(&'a self, subject: &'a CheckSubject<'a>) -> BoxFuture<'a, Result<CheckOutcome>> {
        async move { Ok(examine(subject)) }.boxed()
    }
}

fn examine(subject: &CheckSubject<'_>) -> CheckOutcome {
    if subject.groups.is_empty() {
        let remedy = "make one: `fairshared groups create NAME`, or import what ran: `fairshared import`";
        return CheckOutcome::warning("there is no resource group", remedy);
    }
    let lacking = subject.names(|group| group.facts.capacity.is_empty());
    if lacking.is_empty() {
        return CheckOutcome::ok("every resource group has capacity");
    }
    let has_agents =
        subject.groups.iter().any(|group| group.facts.capacity.is_empty() && !group.facts.agent_slots.is_empty());
    let why = if has_agents { ", or agents that are out of service only" } else { "" };
    CheckOutcome::warning(
        format!(
            "no agents that offer anything{why}, so that new usage does not count: {}",
            list_names(&lacking, MAX_NAMED)
        ),
        "report the agents: `fairshared agents set GROUP AGENT --slot cpu=64`, or import them with `--capacities FILE`",
    )
}
