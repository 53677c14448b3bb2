//! The movement of ranks: the present ranks compared with those after the last run of the day before.

use std::cmp::Reverse;
use std::sync::Arc;

use super::{Caller, Error, Result, Service, VisibleGroup};
use crate::domain::ids::Owner;
use crate::domain::ranking::PlacedRow;
use crate::domain::time::Day;
use crate::engine::group::snapshots::rows::UserShare;
use crate::engine::rank_memory::RanksByOwner;
use crate::store;

pub use crate::store::share_days::RankMove;

/// The largest number of users in one direction in an answer.
const MAX_MOVERS: u32 = 100;

/// The users whose ranks have moved most since the day before.
#[derive(Clone, Debug)]
pub struct UserMovers {
    /// The group at the time of the comparison.
    pub group: VisibleGroup,
    /// The day that ranks are compared with; `None` before the first calculation.
    pub since: Option<Day>,
    /// The largest movement first; equal ones by rank, then by id.
    pub up: Vec<PlacedRow<UserShare>>,
    pub down: Vec<PlacedRow<UserShare>>,
}

/// The users who moved most on a past day.
#[derive(Clone, Debug)]
pub struct DayMovers {
    /// The day whose ranks those of the day are compared with.
    pub since: Day,
    /// The largest movement first; equal ones by rank, then by id.
    pub up: Vec<RankMove>,
    pub down: Vec<RankMove>,
}

fn check_count(first: u32) -> Result<()> {
    if (1..=MAX_MOVERS).contains(&first) {
        return Ok(());
    }
    Err(Error::about("/first", "invalid_page_size", format!("is not a number from 1 to {MAX_MOVERS}")))
}

impl VisibleGroup {
    /// The day before the last calculation, whose ranks are compared.
    pub fn day_before(&self) -> Option<Day> {
        self.calculation.as_ref().map(|calculation| calculation.lookback_end.plus(-1))
    }

    /// The number of owners that are ranked together with `owner`, whose row the caller may see.
    pub fn ranked_count(&self, owner: &Owner) -> usize {
        let rows = &self.facts().rows;
        match owner {
            Owner::Domain(_) => rows.domains.len(),
            Owner::Project(id) => rows.project(*id).map_or(0, |row| rows.count_projects_in(&row.domain_name)),
            Owner::User(_) => rows.users.len(),
        }
    }
}

impl Service {
    /// The ranks of the day before. An owner has none if it did not exist then, if nothing of that day is kept, or if
    /// the database does not answer.
    pub async fn previous_ranks(&self, group: &VisibleGroup) -> Arc<RanksByOwner> {
        let Some(day) = group.day_before() else { return Arc::default() };
        self.engine.previous_ranks.read_within_timeout(self.store(), group.key, day).await.unwrap_or_default()
    }

    /// The users who moved most since the day before, at most `most` in each direction.
    #[tracing::instrument(
        name = "service.rank_movement.rank_movers",
        level = "debug",
        skip_all,
        fields(group),
        err(level = "debug")
    )]
    pub async fn rank_movers(&self, caller: &Caller, group: &str, first: u32) -> Result<UserMovers> {
        check_count(first)?;
        let group = self.group_for_readers(caller, group)?;
        let since = group.day_before();
        let before = match since {
            Some(day) => self.engine.previous_ranks.get(self.store(), group.key, day).await?,
            None => Arc::default(),
        };
        let movers = || {
            let moved = rank_changes(&group, &before);
            Ok([true, false].map(|is_up| farthest_moves(&moved, is_up, first as usize)))
        };
        let [up, down] = self.permits.scan(caller.client(), group.count_users(), movers).await?;
        Ok(UserMovers { group, since, up, down })
    }

    /// The users who moved most between the end of the day before `day` and the end of `day`.
    #[tracing::instrument(
        name = "service.rank_movement.rank_movers_of_day",
        level = "debug",
        skip_all,
        fields(group),
        err(level = "debug")
    )]
    pub async fn rank_movers_of_day(&self, caller: &Caller, group: &str, day: Day, first: u32) -> Result<DayMovers> {
        check_count(first)?;
        let key = self.group_for_readers(caller, group)?.key;
        let db = self.reads_for(caller.client());
        let movers = |is_up| store::share_days::load_movers(&db, key, day, is_up, first);
        Ok(DayMovers { since: day.plus(-1), up: movers(true).await?, down: movers(false).await? })
    }
}

/// A user whose rank has changed, and the number of ranks that it has risen.
struct RankChange<'a> {
    by: i64,
    rank: u32,
    row: &'a Arc<UserShare>,
}

fn rank_changes<'a>(group: &'a VisibleGroup, before: &RanksByOwner) -> Vec<RankChange<'a>> {
    let moved = group.ranked().filter_map(|(rank, row)| {
        let by = i64::from(*before.get(&Owner::User(row.member))?) - i64::from(rank);
        (by != 0).then_some(RankChange { by, rank, row })
    });
    moved.collect()
}

fn farthest_moves(moved: &[RankChange], is_up: bool, count: usize) -> Vec<PlacedRow<UserShare>> {
    let mut chosen: Vec<&RankChange> = moved.iter().filter(|one| (one.by > 0) == is_up).collect();
    chosen.sort_unstable_by_key(|one| (Reverse(one.by.abs()), one.rank, one.row.member));
    chosen.into_iter().take(count).map(|one| PlacedRow::new(one.rank, Arc::clone(one.row))).collect()
}
