//! The audit of shares: runs calculate only the shares that may have changed, and this proves that a calculation of all
//! shares gives the same result (FAIR_SHARE §6, §7).

use super::difference::UsageDifference;
use crate::domain::factor::{HistoryDecayer, fair_share_factor};
use crate::domain::hierarchy::{Hierarchy, WeighingResult};
use crate::domain::ids::Owner;
use crate::domain::time::Day;
use crate::domain::weight::{EffectiveWeight, Weight};
use crate::engine::audit::label;
use crate::engine::group::state::{GroupState, LastCalculation};

/// The first share of a loaded state that differs from what its buckets and weights give. `should` is its hierarchy
/// after weighing, and `weighed` has the changes that weighing made.
pub fn first_difference(
    state: &mut GroupState,
    should: &Hierarchy,
    weighed: &WeighingResult,
    today: Day,
) -> Option<UsageDifference> {
    other_history(state, today).or_else(|| other_factor(state, should, weighed))
}

fn other_history(state: &mut GroupState, today: Day) -> Option<UsageDifference> {
    // For purged buckets the former result is not known. No bucket is purged that a calculation of today reaches.
    let purged = |start| state.group.records_from.is_some_and(|from| start < from);
    let is_known = |last: &&LastCalculation| last.lookback_end == today || !purged(last.lookback_start);
    let calculation = state.calculation.as_ref().filter(is_known)?;
    let (ledger, hierarchy) = (&mut state.ledger, &state.hierarchy);
    let decayer = HistoryDecayer::new(&calculation.options, calculation.lookback_end);
    ledger.normalize(&decayer);
    hierarchy.owners().find_map(|owner| {
        let known = &hierarchy.share(&owner)?.history;
        let should = ledger.history(&owner, &decayer);
        (**known != should).then(|| UsageDifference {
            row: format!("share of {}", label(&owner)),
            detail: format!(
                "its decayed usage is {} ({}), and that of its buckets is {} ({})",
                known.total_decayed_usage.to_json(),
                known.normalized_usage,
                should.total_decayed_usage.to_json(),
                should.normalized_usage
            ),
        })
    })
}

fn other_factor(state: &GroupState, should: &Hierarchy, weighed: &WeighingResult) -> Option<UsageDifference> {
    // Under a rule of its own every factor follows from the whole tree, which a report in another group may have changed by
    // moving a project. Factors follow with the next change in this group.
    if state.scheduler.share_rule().is_some() {
        return None;
    }
    let (hierarchy, default) = (&state.hierarchy, state.options.default_weight);
    weighed.refactored.iter().find(|owner| !is_of_another_domain(hierarchy, owner, default)).map(|owner| {
        let factor = |of: &Hierarchy| of.share(owner).map_or(1.0, |share| share.fair_share_factor);
        UsageDifference {
            row: format!("share of {}", label(owner)),
            detail: format!("its factor is {}, and that of its usage and weight {}", factor(hierarchy), factor(should)),
        }
    })
}

/// True if a user's factor follows from another domain of the group. A report in another group may have moved the
/// project, and factors follow with the next change in this group.
fn is_of_another_domain(hierarchy: &Hierarchy, owner: &Owner, default: Weight) -> bool {
    let Owner::User(member) = owner else { return false };
    let (Some(share), Some((_, project))) = (hierarchy.users().get(member), hierarchy.projects().get(&member.project))
    else {
        return false;
    };
    let weights = hierarchy.domains().values().map(|domain| domain.weight.unwrap_or(default));
    weights.chain([default]).any(|domain| {
        let own = share.weight.unwrap_or(default);
        let weight = EffectiveWeight::product(domain, project.weight.unwrap_or(default), own);
        fair_share_factor(share.history.normalized_usage, weight).to_bits() == share.fair_share_factor.to_bits()
    })
}
