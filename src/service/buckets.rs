//! Lists of usage buckets.

use uuid::Uuid;

use super::input::page::{Cursor, CursorKey, Page, PageWindow};
use super::{Caller, Error, Result, Service};
use crate::domain::filter::Filter;
use crate::domain::tier::Tier;
use crate::store::bucket_list::{self, BucketPosition, BucketQuery};

pub use crate::store::bucket_list::{BucketCondition, BucketField, BucketRow};

/// The parameters of a list of buckets.
#[derive(Clone, Debug)]
pub struct BucketList {
    pub tier: Tier,
    pub filter: Filter<BucketCondition>,
    pub field: BucketField,
    pub descending: bool,
    pub window: PageWindow,
}

/// The name of a list with one order in page cursors.
pub fn bucket_list_name(tier: Tier, field: BucketField, descending: bool) -> String {
    format!("usage-buckets/{tier:?}/{field:?}/{}", if descending { "desc" } else { "asc" })
}

impl Service {
    #[tracing::instrument(
        name = "service.buckets.usage_buckets",
        level = "debug",
        skip_all,
        fields(group),
        err(level = "debug")
    )]
    pub async fn usage_buckets(&self, caller: &Caller, group: &str, list: BucketList) -> Result<Page<BucketRow>> {
        let mut filter = list.filter;
        match (caller.only_user(), list.tier) {
            (None, _) => {}
            (Some(user), Tier::User) => {
                filter = Filter::All(vec![filter, Filter::Is(BucketCondition::User(vec![user.0]))]);
            }
            (Some(_), _) => caller.require_reader()?,
        }
        self.group(caller, group)?;
        let name = bucket_list_name(list.tier, list.field, list.descending);
        let place = |cursor: &Option<Cursor>| cursor.as_ref().map(|c| read_place(c, list.tier)).transpose();
        let query = BucketQuery {
            tier: list.tier,
            group: group.to_owned(),
            filter,
            field: list.field,
            descending: list.descending,
            from_end: list.window.from_end,
            after: place(&list.window.after)?,
            before: place(&list.window.before)?,
            offset: list.window.offset,
            limit: list.window.limit.into(),
        };
        let domains: Vec<String> = self.people().domains().map(|domain| domain.name.to_string()).collect();
        let found = bucket_list::list(&self.reads_for(caller.client()), &query, &domains).await?;
        let (has_next, has_previous) = list.window.neighbours(found.cut);
        let cursor = |row: &BucketRow| Cursor::new(name.clone(), write_place(row.place(list.tier, list.field)));
        Ok(Page {
            rows: found.rows.into_iter().map(|r| (cursor(&r), r)).collect(),
            has_next,
            has_previous,
            total: found.total,
        })
    }
}

fn write_place(place: BucketPosition) -> Vec<CursorKey> {
    let mut key = vec![
        CursorKey::Number(place.value.unsigned_abs()),
        CursorKey::Number(place.period_start.unsigned_abs().into()),
    ];
    key.extend(place.domain_name.map(CursorKey::Text));
    key.extend(place.user.map(|u| CursorKey::Text(u.to_string())));
    key.extend(place.project.map(|p| CursorKey::Text(p.to_string())));
    key
}

fn read_place(cursor: &Cursor, tier: Tier) -> Result<BucketPosition> {
    let fault = Error::other_cursor;
    let [CursorKey::Number(value), CursorKey::Number(start), rest @ ..] = cursor.key.as_slice() else {
        return Err(fault());
    };
    let id = |key: Option<&CursorKey>| match key {
        Some(CursorKey::Text(text)) => text.parse::<Uuid>().map(Some).map_err(|_| fault()),
        _ => Err(fault()),
    };
    let mut place = BucketPosition {
        value: i64::try_from(*value).map_err(|_| fault())?,
        period_start: i32::try_from(*start).map_err(|_| fault())?,
        domain_name: None,
        user: None,
        project: None,
    };
    match tier {
        Tier::Domain => match rest.first() {
            Some(CursorKey::Text(name)) => place.domain_name = Some(name.clone()),
            _ => return Err(fault()),
        },
        Tier::Project => place.project = id(rest.first())?,
        Tier::User => (place.user, place.project) = (id(rest.first())?, id(rest.get(1))?),
    }
    Ok(place)
}
