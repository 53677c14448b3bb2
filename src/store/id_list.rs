//! Lists whose rows are numbered by the database, newest first.

use sea_orm::{
    ColumnTrait, ConnectionTrait, EntityTrait, PaginatorTrait, QueryFilter, QueryOrder, QuerySelect, Select,
};

use super::Result;

/// Which rows of such a list are wanted.
#[derive(Clone, Copy, Debug, Default)]
pub struct IdWindow {
    /// Only rows that follow this one: smaller numbers.
    pub after: Option<i64>,
    /// Only rows that precede this one.
    pub before: Option<i64>,
    /// The last rows instead of the first; the answer is newest first all the same.
    pub from_end: bool,
    pub offset: u64,
    pub limit: u64,
}

/// The rows, whether more follow on the side that was cut, and how many there are in all.
pub struct IdPage<T> {
    pub rows: Vec<T>,
    pub cut: bool,
    pub total: u64,
}

impl<T> IdPage<T> {
    pub(super) fn try_map<U>(self, decode: impl Fn(T) -> Result<U>) -> Result<IdPage<U>> {
        let rows = self.rows.into_iter().map(decode).collect::<Result<_>>()?;
        Ok(IdPage { rows, cut: self.cut, total: self.total })
    }
}

/// One window on the rows that `matching` selects, with two statements.
pub(super) async fn page<E>(
    db: &impl ConnectionTrait,
    matching: Select<E>,
    id: impl ColumnTrait,
    window: &IdWindow,
) -> Result<IdPage<E::Model>>
where
    E: EntityTrait<Model: Send + Sync>,
{
    let total = matching.clone().count(db).await?;
    let mut query = matching.offset(window.offset).limit(window.limit + 1);
    if let Some(after) = window.after {
        query = query.filter(id.lt(after));
    }
    if let Some(before) = window.before {
        query = query.filter(id.gt(before));
    }
    let ordered = if window.from_end { query.order_by_asc(id) } else { query.order_by_desc(id) };
    let mut rows = ordered.all(db).await?;
    let wanted = usize::try_from(window.limit).unwrap_or(usize::MAX);
    let cut = rows.len() > wanted;
    rows.truncate(wanted);
    if window.from_end {
        rows.reverse();
    }
    Ok(IdPage { rows, cut, total })
}
