//! The check `agents`: names that look like ranges of agents, which count as one agent each.

use futures::FutureExt;
use futures::future::BoxFuture;

use super::{Check, CheckOutcome, CheckSubject, MAX_NAMED, list_names};
use crate::engine::group::agent_slots::looks_like_range;
use crate::service::Result;

pub(super) struct AgentNamesCheck;

impl Check for AgentNamesCheck {
    fn name(&self) -> &'static str {
        "agents"
    }

    fn examine<'a>(&'a self, subject: &'a CheckSubject<'a>) -> BoxFuture<'a, Result<CheckOutcome>> {
        async move { Ok(examine(subject)) }.boxed()
    }
}

fn examine(subject: &CheckSubject<'_>) -> CheckOutcome {
    let mut ranges: Vec<String> = Vec::new();
    for group in &subject.groups {
        let names = group.facts.agents.iter().map(|agent| &agent.agent_id).filter(|name| looks_like_range(name));
        ranges.extend(names.map(|name| format!("{name:?} in {}", group.facts.name)));
    }
    if ranges.is_empty() {
        return CheckOutcome::ok("no name of an agent looks like a range");
    }
    CheckOutcome::warning(
        format!(
            "names that look like ranges of agents, each of which counts as one agent: {}",
            list_names(&ranges, MAX_NAMED)
        ),
        "set each agent by its own name, as with `fairshared agents set GROUP node-1 --slot cpu=64`, and remove the range: \
         `fairshared agents remove GROUP NAME`",
    )
}
