//! The history of factors and ranks: one row for each domain, project and user at the end of each day, written before
//! the first run of the next day.

use std::sync::Arc;

use uuid::Uuid;

use super::input::page::{CursorKey, Page, PageWindow, day_key, key_day, key_page, key_window};
use super::{Caller, Error, Result, Service};
use crate::domain::fairness::DaySpan;
use crate::domain::ids::ProjectId;
use crate::domain::tier::Tier;
use crate::domain::time::Day;
use crate::engine::people::lookup;
use crate::service::people::known_names;
use crate::store;
use crate::store::share_days::{ShareDayPosition, ShareFilter};

pub use crate::store::share_days::{ShareDay, ShareOrder};

/// The largest number of days of a list without an owner, and of a list of one owner.
const MAX_DAYS: i32 = 31;
const MAX_DAYS_OF_OWNER: i32 = 3_660;

/// The parameters of a history: owners by name or UUID, and days.
#[derive(Clone, Copy, Debug)]
pub struct ShareHistoryQuery<'a> {
    pub tier: Tier,
    pub domain: Option<&'a str>,
    pub project: Option<&'a str>,
    pub user: Option<&'a str>,
    /// The first and the last day, both inclusive.
    pub from: Option<Day>,
    pub to: Option<Day>,
    /// A part of the name, in any case, or of the UUID of an owner without a name.
    pub search: Option<&'a str>,
    /// The order of the rows of a day.
    pub order: ShareOrder,
}

/// The key of a row in one of the orders.
fn key_of(row: &ShareDay, order: ShareOrder) -> Vec<CursorKey> {
    let (user, project, domain) = row.id();
    let rank = (order == ShareOrder::Rank).then(|| CursorKey::Number(row.rank.into()));
    let id = [CursorKey::Text(user.to_string()), CursorKey::Text(project.to_string()), CursorKey::Text(domain)];
    [day_key(row.day)].into_iter().chain(rank).chain(id).collect()
}

fn place_of(key: &[CursorKey]) -> Option<ShareDayPosition> {
    let (day, rank, id) = match key {
        [CursorKey::Number(day), id @ ..] if id.len() == 3 => (day, 0, id),
        [CursorKey::Number(day), CursorKey::Number(rank), id @ ..] => (day, u32::try_from(*rank).ok()?, id),
        _ => return None,
    };
    let [CursorKey::Text(user), CursorKey::Text(project), CursorKey::Text(domain)] = id else { return None };
    let id = |text: &String| text.parse::<Uuid>().ok();
    Some((key_day(*day), rank, (id(user)?, id(project)?, domain.clone())))
}

impl Service {
    /// The name of the history of a tier in page cursors.
    pub fn share_history_list(tier: Tier, order: ShareOrder) -> String {
        match order {
            ShareOrder::Id => format!("share-history/{tier:?}"),
            ShareOrder::Rank => format!("share-history/{tier:?}/rank"),
        }
    }

    /// The rows by day, then by rank or by id, as far as the caller may see them.
    #[tracing::instrument(
        name = "service.share_history.share_history",
        level = "debug",
        skip_all,
        fields(group),
        err(level = "debug")
    )]
    pub async fn share_history(
        &self,
        caller: &Caller,
        group: &str,
        query: ShareHistoryQuery<'_>,
        window: &PageWindow,
    ) -> Result<Page<ShareDay>> {
        let visible = self.group(caller, group)?;
        let filter = self.history_filter(caller, group, query)?;
        let order = query.order;
        let place = key_window(window, place_of)?;
        let found =
            store::share_days::page(&self.reads_for(caller.client()), visible.key, &filter, order, &place).await?;
        Ok(key_page(&Self::share_history_list(filter.tier, order), found, |row| key_of(row, order), window))
    }

    fn history_filter(&self, caller: &Caller, group: &str, query: ShareHistoryQuery) -> Result<ShareFilter> {
        let ShareHistoryQuery { tier, domain, project, user, from, to, search, order: _ } = query;
        let of = |fault| Error::Invalid(vec![fault]);
        let goes_with =
            |pointer, what| Err(Error::about(pointer, "contradiction", format!("does not go with the tier of {what}")));
        match tier {
            Tier::Domain if project.is_some() => return goes_with("/project", "domains"),
            Tier::Domain | Tier::Project if user.is_some() => {
                return goes_with("/user", if tier == Tier::Domain { "domains" } else { "projects" });
            }
            _ => {}
        }
        let (user, project) = {
            let people = self.people();
            let id = user.map(|text| lookup::user_of_text(&people, text, "/user")).transpose().map_err(of)?;
            known_names::require_known_user(&people, caller, id, user).map_err(of)?;
            let in_project = project.map(|text| lookup::project_of_text(&people, text, "/project"));
            let in_project = in_project.transpose().map_err(of)?;
            known_names::require_known_project(&people, caller, in_project, project).map_err(of)?;
            (id, in_project)
        };
        match user {
            Some(user) => caller.require_user(user)?,
            None if tier != Tier::User => caller.require_reader()?,
            None => {}
        }
        let mut filter = ShareFilter {
            tier,
            days: DaySpan { first: Day::MIN, last: Day::MIN },
            user: caller.only_user().or(user),
            projects: self.projects_of(caller, group, (tier, domain), project)?,
            domain: domain.filter(|_| tier == Tier::Domain).map(str::to_owned),
            among: search.map(|part| self.called(tier, &part.to_lowercase())),
        };
        filter.days = self.history_days(&filter, from, to)?;
        Ok(filter)
    }

    /// The owners of a tier with `part` in the name, which is in lower case: names of domains, or ids.
    fn called(&self, tier: Tier, part: &str) -> Vec<String> {
        let people = self.people();
        let has = |name: Option<&Arc<str>>, id: Uuid| {
            let shown = name.map_or_else(|| id.to_string(), |name| name.to_lowercase());
            shown.contains(part).then(|| id.simple().to_string())
        };
        match tier {
            Tier::Domain => {
                let names = people.domains().map(|domain| domain.name.to_string());
                names.filter(|name| name.to_lowercase().contains(part)).collect()
            }
            Tier::Project => people.projects().filter_map(|row| has(row.shown(), row.id.0)).collect(),
            Tier::User => people.users().filter_map(|row| has(row.shown(), row.id.0)).collect(),
        }
    }

    /// The requested project, or the projects that are in the domain now.
    fn projects_of(
        &self,
        caller: &Caller,
        group: &str,
        (tier, domain): (Tier, Option<&str>),
        project: Option<ProjectId>,
    ) -> Result<Option<Vec<ProjectId>>> {
        let Some(domain) = domain.filter(|_| tier != Tier::Domain) else { return Ok(project.map(|id| vec![id])) };
        let visible = self.group(caller, group)?;
        let inside = visible.facts().rows.projects().filter(|row| *row.domain_name == *domain);
        Ok(Some(inside.map(|row| row.project_id).filter(|id| project.is_none_or(|project| project == *id)).collect()))
    }

    fn history_days(&self, filter: &ShareFilter, from: Option<Day>, to: Option<Day>) -> Result<DaySpan> {
        let most = if filter.names_someone() { MAX_DAYS_OF_OWNER } else { MAX_DAYS };
        let today = self.trusted_now().day();
        if from.is_some_and(|from| from > today) {
            return Err(Error::about("/from", "in_future", format!("lies in the future: today is {today}")));
        }
        let last = to.unwrap_or(today);
        let first = from.unwrap_or_else(|| last.plus(1 - MAX_DAYS));
        if last < first {
            return Err(Error::about("/to", "contradiction", "lies before `from`"));
        }
        if last.days_since(first) >= most {
            let said =
                format!("lies more than {most} days before `to`; {MAX_DAYS_OF_OWNER} days are allowed for one entity");
            return Err(Error::about("/from", "out_of_range", said));
        }
        Ok(DaySpan { first, last })
    }

    /// Removes rows of days that are older than `keep_days`. Returns their number.
    #[tracing::instrument(
        name = "service.share_history.purge_share_history",
        level = "debug",
        skip_all,
        fields(group),
        err(level = "debug")
    )]
    pub async fn purge_share_history(&self, group: &str, keep_days: u32) -> Result<u64> {
        let key = self.group(&Caller::job(), group)?.key;
        let before = self.clock().now().day().back(keep_days);
        Ok(store::day_rows::purge::<ShareDay>(self.store().write(), key.0, before).await?)
    }
}
