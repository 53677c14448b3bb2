//! Where everyone stood the day before: the ranks of now beside those that the last run of the day before left.

pub(in crate::service) mod memory;

use std::cmp::Reverse;
use std::sync::Arc;

use super::group::published::rows::UserShare;
use super::{Caller, Error, Result, Service, VisibleGroup};
use crate::domain::ids::Owner;
use crate::domain::maps::FastMap;
use crate::domain::ranking::Placed;
use crate::domain::time::Day;
use crate::store;

pub use crate::store::share_days::RankMove;

/// The most movers of one direction that an answer names.
const MOST_MOVERS: u32 = 100;

/// The ranks of a day that is over.
pub type Ranks = FastMap<Owner, u32>;

/// The users whose rank moved most since the day before.
#[derive(Clone, Debug)]
pub struct Movers {
    /// As it was when its ranks were compared.
    pub group: VisibleGroup,
    /// The day that ranks are compared with; `None` before the first calculation.
    pub since: Option<Day>,
    /// The farthest first, equals by rank and then by id.
    pub up: Vec<Placed<UserShare>>,
    pub down: Vec<Placed<UserShare>>,
}

/// The users who moved most on a day that is over.
#[derive(Clone, Debug)]
pub struct DayMovers {
    /// The day with whose ranks those of the day are compared.
    pub since: Day,
    /// The farthest first, equals by rank and then by id.
    pub up: Vec<RankMove>,
    pub down: Vec<RankMove>,
}

fn check_count(first: u32) -> Result<()> {
    if (1..=MOST_MOVERS).contains(&first) {
        return Ok(());
    }
    Err(Error::about("/first", "invalid_page_size", format!("is not a number from 1 to {MOST_MOVERS}")))
}

impl VisibleGroup {
    /// The day before that of the last calculation: with what it left, ranks are compared.
    pub fn day_before(&self) -> Option<Day> {
        self.calculation.as_ref().map(|calculation| calculation.lookback_end.plus(-1))
    }

    /// How many are ranked together with `owner`, whose row the caller sees.
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
    /// The ranks that the day before left. Who has none was not there, nothing of that day is kept, or the database does not
    /// answer.
    pub async fn previous_ranks(&self, group: &VisibleGroup) -> Arc<Ranks> {
        let Some(day) = group.day_before() else { return Arc::default() };
        self.previous_ranks.soon(self.store(), group.key, day).await.unwrap_or_default()
    }

    /// The users who moved most since the day before, at most so many in each direction.
    #[tracing::instrument(
        name = "service.rank_movement.rank_movers",
        level = "debug",
        skip_all,
        fields(group),
        err(level = "debug")
    )]
    pub async fn rank_movers(&self, caller: &Caller, group: &str, first: u32) -> Result<Movers> {
        check_count(first)?;
        let group = self.group_for_readers(caller, group)?;
        let since = group.day_before();
        let before = match since {
            Some(day) => self.previous_ranks.get(self.store(), group.key, day).await?,
            None => Arc::default(),
        };
        let movers = || {
            let moved = moved(&group, &before);
            Ok([true, false].map(|is_up| farthest(&moved, is_up, first as usize)))
        };
        let [up, down] = self.permits.scan(caller.key_id, group.count_users(), movers).await?;
        Ok(Movers { group, since, up, down })
    }

    /// The users who moved most from what the day before `day` left to what `day` left.
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
        let movers = |is_up| store::share_days::movers(self.store().read(), key, day, is_up, first);
        Ok(DayMovers { since: day.plus(-1), up: movers(true).await?, down: movers(false).await? })
    }
}

/// Who has another rank than before, and by how many places it is better.
struct Moved<'a> {
    by: i64,
    rank: u32,
    row: &'a Arc<UserShare>,
}

fn moved<'a>(group: &'a VisibleGroup, before: &Ranks) -> Vec<Moved<'a>> {
    let moved = group.ranked().filter_map(|(rank, row)| {
        let by = i64::from(*before.get(&Owner::User(row.member))?) - i64::from(rank);
        (by != 0).then_some(Moved { by, rank, row })
    });
    moved.collect()
}

fn farthest(moved: &[Moved], is_up: bool, count: usize) -> Vec<Placed<UserShare>> {
    let mut chosen: Vec<&Moved> = moved.iter().filter(|one| (one.by > 0) == is_up).collect();
    chosen.sort_unstable_by_key(|one| (Reverse(one.by.abs()), one.rank, one.row.member));
    chosen.into_iter().take(count).map(|one| Placed::new(one.rank, Arc::clone(one.row))).collect()
}
