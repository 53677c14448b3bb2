//! Fair shares of users, many on a page. A run may change those of all users, and a database spends more time on a row than on what
//! one share says.
//!
//! Pages of a group are numbered from 0 on. What changes of few is added on pages of its own: of a share that is on several pages,
//! the one with the highest number is right, and the others are outdated. All pages are written again before there are more
//! outdated shares than a quarter of the users.

use std::collections::BTreeMap;
use std::mem::replace;

use futures::future::{BoxFuture, try_join_all};
use futures::{FutureExt, TryStreamExt};
use sea_orm::ActiveValue::Set;
use sea_orm::{
    ColumnTrait, Condition, ConnectionTrait, EntityTrait, QueryFilter, QueryOrder, QuerySelect, StreamTrait,
};
use tokio::task::JoinHandle;

use super::bulk::Spread;
use super::entity::user_share_page::{ActiveModel, Column, Entity};
use super::{Result, StoreError, bulk, packed_share};
use crate::domain::hierarchy::Share;
use crate::domain::ids::{GroupKey, Member};

/// The first byte of a page says in which form its shares are.
const FORM: u8 = 1;
/// A page has at most so many bytes, unless a single share has more. `SQLite` keeps it in one page of its own, and a page of
/// `PostgreSQL` has room for it and for the next version of it.
const PAGE_BYTES: usize = 3_900;
/// Pages that are understood together.
const PAGES_TOGETHER: usize = 32;
/// There may be one outdated share for so many users.
const OUTDATED: usize = 4;

/// Shares of users.
pub type Users = Vec<(Member, Share)>;

/// How much is stored of a group.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StoredShares {
    pages: i32,
    /// With those that are outdated.
    shares: usize,
}

/// Reads the shares of all users. What it returns waits until they are understood, which goes on while other rows are read, and
/// has them in the order of users.
#[tracing::instrument(name = "db.share_pages.load", level = "debug", skip_all, fields(group = group.0), err(level = "debug"))]
pub async fn load(
    db: &(impl ConnectionTrait + StreamTrait),
    group: GroupKey,
) -> Result<BoxFuture<'static, Result<(StoredShares, Users)>>> {
    let rows = Entity::find()
        .select_only()
        .columns([Column::Page, Column::Shares])
        .filter(Column::GroupKey.eq(group.0))
        .order_by_asc(Column::Page)
        .into_tuple::<(i32, Vec<u8>)>()
        .stream(db)
        .await?;
    // Pages are understood on another thread while the next are read.
    let mut parts = rows.try_chunks(PAGES_TOGETHER).map_err(|broken| broken.1);
    let (mut pages, mut read) = (0, Vec::new());
    while let Some(part) = parts.try_next().await? {
        pages = part.last().map_or(pages, |(page, _)| page + 1);
        read.push(tokio::spawn(async move { understand(&part) }));
    }
    Ok(together(pages, read).boxed())
}

/// What is on all pages.
async fn together(pages: i32, read: Vec<JoinHandle<Result<Users>>>) -> Result<(StoredShares, Users)> {
    let read: Vec<Users> = try_join_all(read).await?.into_iter().collect::<Result<_>>()?;
    let mut users: Users = read.into_iter().flatten().collect();
    let stored = StoredShares { pages, shares: users.len() };
    // Sorting leaves those of one user in the order of their pages: the last is right.
    users.sort_by_key(|(member, _)| *member);
    users.dedup_by(|next, kept| {
        let same = next.0 == kept.0;
        if same {
            std::mem::swap(next, kept);
        }
        same
    });
    Ok((stored, users))
}

fn understand(pages: &[(i32, Vec<u8>)]) -> Result<Users> {
    let mut shares = Vec::new();
    for (number, page) in pages {
        let damaged = |what: &str| StoreError::Damaged(format!("page {number} of shares: {what}"));
        let Some((&FORM, mut rest)) = page.split_first() else { return Err(damaged("unknown form")) };
        while !rest.is_empty() {
            let (member, share, after) = packed_share::take(rest).map_err(|error| match error {
                StoreError::Damaged(what) => damaged(&what),
                other => other,
            })?;
            shares.push((member, share));
            rest = after;
        }
    }
    Ok(shares)
}

/// Stores the shares of users who have `changed`, each of them once and in their order, or those of all `users`. Returns how much
/// is stored then.
#[tracing::instrument(name = "db.share_pages.save", level = "debug", skip_all, fields(group = group.0), err(level = "debug"))]
pub async fn save(
    db: &impl ConnectionTrait,
    group: GroupKey,
    users: &BTreeMap<Member, Share>,
    changed: &[(&Member, &Share)],
    stored: StoredShares,
) -> Result<StoredShares> {
    if changed.is_empty() {
        return Ok(stored);
    }
    let mut now = StoredShares { shares: stored.shares + changed.len(), ..stored };
    if now.shares <= users.len() + users.len() / OUTDATED {
        bulk::insert(db, rows(group, &mut now.pages, changed.iter().copied()), None).await?;
        return Ok(now);
    }
    now = StoredShares { pages: 0, shares: users.len() };
    let all = rows(group, &mut now.pages, users.iter());
    bulk::replace(db, all, &[Column::GroupKey, Column::Page], &[Column::Shares], Spread::Scattered).await?;
    let further = Condition::all().add(Column::GroupKey.eq(group.0)).add(Column::Page.gte(now.pages));
    Entity::delete_many().filter(further).exec(db).await?;
    Ok(now)
}

/// Pages from the number `next` on, which is raised with each.
fn rows<'a>(
    group: GroupKey,
    next: &mut i32,
    shares: impl Iterator<Item = (&'a Member, &'a Share)>,
) -> impl Iterator<Item = ActiveModel> {
    pages(shares).map(move |shares| {
        let page = *next;
        *next += 1;
        ActiveModel { group_key: Set(group.0), page: Set(page), shares: Set(shares) }
    })
}

fn pages<'a>(mut shares: impl Iterator<Item = (&'a Member, &'a Share)>) -> impl Iterator<Item = Vec<u8>> {
    let mut begun = vec![FORM];
    std::iter::from_fn(move || {
        let mut page = replace(&mut begun, vec![FORM]);
        for (member, share) in shares.by_ref() {
            let end = page.len();
            page = packed_share::push(page, *member, share);
            if page.len() > PAGE_BYTES && end > 1 {
                begun.extend(page.drain(end..));
                break;
            }
        }
        (page.len() > 1).then_some(page)
    })
}
