//! The audit that readers see what is stored. Each change rebuilds only the rows that moved; this compares the result
//! with a snapshot that is built completely (FAIR_SHARE §7).

use super::difference::UsageDifference;
use crate::domain::hierarchy::Hierarchy;
use crate::domain::ranking::PlacedRow;
use crate::engine::audit::label;
use crate::engine::group::snapshots::GroupSnapshot;
use crate::engine::group::snapshots::rows::{RankedRows, TierRow};
use crate::engine::people::PeopleDirectory;
use crate::store::groups::{GroupRevisions, StoredGroup};

/// The first row of the snapshot that differs from the loaded group, with its hierarchy after weighing. A snapshot of
/// another revision is not compared, because the writer of the later revision is about to publish it.
pub fn first_difference(
    group_snapshot: &GroupSnapshot,
    group: &StoredGroup,
    weighed: &Hierarchy,
    people: &PeopleDirectory,
) -> Option<UsageDifference> {
    let revision = |of: GroupRevisions| (of.created_at, of.shares);
    let shown = &group_snapshot.facts.rows;
    if revision(group_snapshot.facts.revisions()) != revision(group.revisions()) || !shown.show(people) {
        return None;
    }
    let stored = RankedRows::build(weighed, people);
    first_other(shown.domains.placed(), stored.domains.placed(), |row| shown.placed_domain(&row.domain_name))
        .or_else(|| {
            first_other(shown.placed_projects(), stored.placed_projects(), |row| shown.placed_project(row.project_id))
        })
        .or_else(|| first_other(shown.users.placed(), stored.users.placed(), |row| shown.placed_user(row.member)))
}

/// The first row of a tier, by rank, that differs from the stored one or is not found under its name.
fn first_other<R: TierRow>(
    mut shown: impl Iterator<Item = PlacedRow<R>>,
    mut stored: impl Iterator<Item = PlacedRow<R>>,
    find: impl Fn(&R) -> Option<PlacedRow<R>>,
) -> Option<UsageDifference> {
    loop {
        let (is, should) = (shown.next(), stored.next());
        let row = should.as_ref().or(is.as_ref())?;
        let found = find(row);
        if is != should || found != should {
            return Some(UsageDifference {
                row: format!("shown {}", label(&row.owner())),
                detail: format!(
                    "readers see {} at this place and {} under this name, and what is stored has {}",
                    describe(is.as_ref()),
                    describe(found.as_ref()),
                    describe(should.as_ref())
                ),
            });
        }
    }
}

fn describe<R: TierRow>(row: Option<&PlacedRow<R>>) -> String {
    row.map_or_else(
        || "nothing".to_owned(),
        |row| {
            let share = row.share();
            let (factor, weight) = (share.fair_share_factor, share.effective_weight);
            format!("{} with rank {}, factor {factor} and effective weight {weight}", label(&row.owner()), row.rank)
        },
    )
}
