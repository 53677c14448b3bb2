//! The order that compares all users with each other. The key of a user depends on its own workloads alone, so the keys
//! of all workloads are known before any is placed, and one sort gives the order.

use super::charge::{UsageAccount, UsageCharge};
use super::lists::{ByOwner, NextWorkload};
use super::{UsageAccounts, WorkloadTurn};
use crate::factor::fair_share_factor;
use crate::ids::Member;
use crate::parallel;

/// A workload, with the usage of its user once it is placed.
struct FlatWorkload {
    at: u32,
    user: u32,
    used: f64,
}

/// The state of a user.
struct UserState {
    account: UsageAccount,
    /// The largest key of its workloads so far.
    reached: u128,
}

/// The first `most` of `workloads`. The smallest key comes next. If a workload has a smaller key than the previous one
/// of the same user, it follows at once, because no other user had a smaller key at that time. So it gets the key of
/// the previous one.
pub fn order(
    workloads: &ByOwner<Member>,
    charges: &[UsageCharge],
    accounts: &dyn UsageAccounts,
    most: usize,
) -> Vec<WorkloadTurn> {
    let of = |member: &Member| UserState { account: accounts.user(*member), reached: 0 };
    let mut users: Vec<UserState> = workloads.owners().iter().map(of).collect();
    let count = workloads.count();
    let (mut keys, mut placed) = (Vec::with_capacity(count), Vec::with_capacity(count));
    for (place, NextWorkload { age, at, owner }) in (0u32..).zip(workloads.given()) {
        let UserState { account, reached } = &mut users[owner as usize];
        let charge = charges[at as usize];
        let key = u128::from(account.key_before(charge)) << 32 | u128::from(age);
        *reached = key.max(*reached);
        account.charged += charge;
        // The workloads of one user have ascending places, so their order is kept.
        keys.push(*reached << 32 | u128::from(place));
        placed.push(FlatWorkload { at, user: owner, used: account.used() });
    }
    if most < count {
        keys.select_nth_unstable(most);
        keys.truncate(most);
    }
    keys.sort_unstable();
    parallel::map_items(&keys, |key| {
        let FlatWorkload { at, user, used } = placed[place_of(*key)];
        WorkloadTurn { at, factor_after: fair_share_factor(used, users[user as usize].account.weight) }
    })
}

/// The place, which is in the last 32 bits of a key.
fn place_of(key: u128) -> usize {
    #[expect(clippy::cast_possible_truncation, reason = "the place is what is left")]
    let place = key as u32;
    place as usize
}
