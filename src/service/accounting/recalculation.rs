//! The proof that shares, of which runs calculate only those that may have changed, are those of a calculation of all
//! (FAIR_SHARE §6, §7).

use super::difference::Difference;
use crate::domain::factor::{Decayer, fair_share_factor};
use crate::domain::hierarchy::{Hierarchy, Weighed};
use crate::domain::ids::Owner;
use crate::domain::time::Day;
use crate::domain::weight::{EffectiveWeight, Weight};
use crate::service::audit::label;
use crate::service::group::state::{Calculation, GroupState};

/// The first share of a state as it was loaded that is not what its buckets and weights amount to.
/// `should` is its hierarchy as it is weighed, and `weighed` what that changed.
pub fn first_difference(
    state: &mut GroupState,
    should: &Hierarchy,
    weighed: &Weighed,
    today: Day,
) -> Option<Difference> {
    other_history(state, today).or_else(|| other_factor(state, should, weighed))
}

fn other_history(state: &mut GroupState, today: Day) -> Option<Difference> {
    // Of buckets that are purged it is not known what they amounted to. No bucket goes that a calculation of today reaches.
    let purged = |start| state.group.records_from.is_some_and(|from| start < from);
    let is_known = |last: &&Calculation| last.lookback_end == today || !purged(last.lookback_start);
    let calculation = state.calculation.as_ref().filter(is_known)?;
    let (ledger, hierarchy) = (&mut state.ledger, &state.hierarchy);
    let decayer = Decayer::new(&calculation.options, calculation.lookback_end);
    ledger.normalize(&decayer);
    hierarchy.owners().find_map(|owner| {
        let known = &hierarchy.share(&owner)?.history;
        let should = ledger.history(&owner, &decayer);
        (**known != should).then(|| Difference {
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

fn other_factor(state: &GroupState, should: &Hierarchy, weighed: &Weighed) -> Option<Difference> {
    let (hierarchy, default) = (&state.hierarchy, state.options.default_weight);
    weighed.refactored.iter().find(|owner| !is_of_another_domain(hierarchy, owner, default)).map(|owner| {
        let factor = |of: &Hierarchy| of.share(owner).map_or(1.0, |share| share.fair_share_factor);
        Difference {
            row: format!("share of {}", label(owner)),
            detail: format!("its factor is {}, and that of its usage and weight {}", factor(hierarchy), factor(should)),
        }
    })
}

/// Whether a user's factor is that of another domain of the group: a report in another group may have moved the project, and
/// factors follow with the next change here.
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
