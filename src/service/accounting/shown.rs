//! The audit that readers see what is stored. Each change rebuilds only the rows that moved; this compares the result
//! with a snapshot that is built completely (FAIR_SHARE §7).

use super::difference::Difference;
use crate::domain::hierarchy::Hierarchy;
use crate::domain::ranking::Placed;
use crate::service::audit::label;
use crate::service::group::published::GroupSnapshot;
use crate::service::group::published::rows::{Row, Rows};
use crate::service::people::Directory;
use crate::store::groups::{Group, Revisions};

/// The first row of the snapshot that differs from the loaded group, with its hierarchy after weighing. A snapshot of
/// another revision is not compared, because the writer of the later revision is about to publish it.
pub fn first_difference(
    picture: &GroupSnapshot,
    group: &Group,
    weighed: &Hierarchy,
    people: &Directory,
) -> Option<Difference> {
    let revision = |of: Revisions| (of.created_at, of.shares);
    let shown = &picture.facts.rows;
    if revision(picture.facts.revisions()) != revision(group.revisions()) || !shown.show(people) {
        return None;
    }
    let stored = Rows::build(weighed, people);
    first_other(shown.domains.placed(), stored.domains.placed(), |row| shown.placed_domain(&row.domain_name))
        .or_else(|| {
            first_other(shown.placed_projects(), stored.placed_projects(), |row| shown.placed_project(row.project_id))
        })
        .or_else(|| first_other(shown.users.placed(), stored.users.placed(), |row| shown.placed_user(row.member)))
}

/// The first row of a tier, by rank, that differs from the stored one or is not found under its name.
fn first_other<R: Row>(
    mut shown: impl Iterator<Item = Placed<R>>,
    mut stored: impl Iterator<Item = Placed<R>>,
    find: impl Fn(&R) -> Option<Placed<R>>,
) -> Option<Difference> {
    loop {
        let (is, should) = (shown.next(), stored.next());
        let row = should.as_ref().or(is.as_ref())?;
        let found = find(row);
        if is != should || found != should {
            return Some(Difference {
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

fn describe<R: Row>(row: Option<&Placed<R>>) -> String {
    row.map_or_else(
        || "nothing".to_owned(),
        |row| {
            let share = row.share();
            let (factor, weight) = (share.fair_share_factor, share.effective_weight);
            format!("{} with rank {}, factor {factor} and effective weight {weight}", label(&row.owner()), row.rank)
        },
    )
}
