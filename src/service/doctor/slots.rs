//! The check `slots`: kernels that hold or ask for slots that no agent has.

use std::collections::BTreeSet;

use futures::FutureExt;
use futures::future::BoxFuture;

use super::{Check, CheckOutcome, CheckSubject, MAX_NAMED, list_names};
use crate::domain::slots::SlotName;
use crate::engine::group::snapshots::snapshot_data::GroupSnapshotData;
use crate::service::Result;

pub(super) struct SlotsCheck;

impl Check for SlotsCheck {
    fn name(&self) -> &'static str {
        "slots"
    }

    fn examine<'a>(&'a self, subject: &'a CheckSubject<'a>) -> BoxFuture<'a, Result<CheckOutcome>> {
        async move { Ok(examine(subject)) }.boxed()
    }
}

fn examine(subject: &CheckSubject<'_>) -> CheckOutcome {
    let of_group = |facts: &GroupSnapshotData| {
        slots_without_agent(facts).into_iter().map(|slot| format!("`{slot}` in {}", facts.name)).collect::<Vec<_>>()
    };
    let lacking: Vec<String> = subject.groups.iter().flat_map(|group| of_group(&group.facts)).collect();
    if lacking.is_empty() {
        return CheckOutcome::ok("agents have every slot that kernels hold or ask for");
    }
    CheckOutcome::warning(
        format!(
            "kernels hold or ask for slots that no agent has, so that these cost nothing: {}",
            list_names(&lacking, MAX_NAMED)
        ),
        "name the slot as the agents do, or report it for the agents: `fairshared agents list GROUP` shows what they have",
    )
}

/// The slots that kernels of the group hold, ask for or used in the look-back, and that no agent has, by name.
fn slots_without_agent(facts: &GroupSnapshotData) -> BTreeSet<SlotName> {
    let held = facts.demand.iter().flat_map(|(_, held)| [&held.allocated, &held.pending]);
    let held = held.flat_map(|amounts| amounts.iter().filter(|(_, amount)| !amount.is_zero()).map(|(slot, _)| slot));
    let used = facts.rows.domains.iter().map(|domain| &domain.share.history.total_decayed_usage);
    let used = used.flat_map(|usage| usage.iter().map(|(slot, _)| slot));
    held.chain(used).filter(|slot| facts.lacks_slot(*slot)).collect()
}
