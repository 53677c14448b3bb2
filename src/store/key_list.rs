//! Lists that are read in the order of a key, one window at a time.

use sea_orm::sea_query::{Expr, ExprTrait};
use sea_orm::{
    ColumnTrait, ConnectionTrait, EntityTrait, IntoSimpleExpr, Order, PaginatorTrait, QueryFilter, QueryOrder,
    QuerySelect, Select,
};

use super::Result;

/// The window of such a list.
#[derive(Clone, Debug, Default)]
pub struct KeyWindow<K> {
    /// Only rows after this one.
    pub after: Option<K>,
    /// Only rows before this one.
    pub before: Option<K>,
    /// Takes the last rows instead of the first; they are returned in list order all the same.
    pub from_end: bool,
    pub offset: u64,
    pub limit: u64,
}

/// The window of a list whose rows are numbered by the database, newest first.
pub type IdWindow = KeyWindow<i64>;

/// The rows, true if more rows follow on the side that was cut, and the number of all rows.
pub struct KeyPage<T> {
    pub rows: Vec<T>,
    pub cut: bool,
    pub total: u64,
}

impl<T> KeyPage<T> {
    /// Makes the page of a window from one row more than it takes, in the order in which they were read.
    pub(super) fn of<K>(mut rows: Vec<T>, total: u64, window: &KeyWindow<K>) -> Self {
        let wanted = usize::try_from(window.limit).unwrap_or(usize::MAX);
        let cut = rows.len() > wanted;
        rows.truncate(wanted);
        if window.from_end {
            rows.reverse();
        }
        Self { rows, cut, total }
    }

    pub(super) fn try_map<U>(self, decode: impl Fn(T) -> Result<U>) -> Result<KeyPage<U>> {
        let rows = self.rows.into_iter().map(decode).collect::<Result<_>>()?;
        Ok(KeyPage { rows, cut: self.cut, total: self.total })
    }
}

/// The columns of the key, the most significant one first, and true if larger values come first.
pub(super) struct KeyOrder {
    pub columns: Vec<Expr>,
    pub descending: bool,
}

/// Reads one window of the rows that `matching` selects, with two statements; `values` returns the columns of a key.
pub(super) async fn page<E, K>(
    db: &impl ConnectionTrait,
    matching: Select<E>,
    order: KeyOrder,
    window: &KeyWindow<K>,
    values: impl Fn(&K) -> Vec<Expr>,
) -> Result<KeyPage<E::Model>>
where
    E: EntityTrait<Model: Send + Sync>,
{
    let KeyOrder { columns, descending } = order;
    let total = matching.clone().count(db).await?;
    let larger = |key: &K| Expr::tuple(columns.clone()).gt(Expr::tuple(values(key)));
    let smaller = |key: &K| Expr::tuple(columns.clone()).lt(Expr::tuple(values(key)));
    let (from, to) = if descending { (&window.before, &window.after) } else { (&window.after, &window.before) };
    let mut query = matching.offset(window.offset).limit(window.limit + 1);
    for condition in from.iter().map(larger).chain(to.iter().map(smaller)) {
        query = query.filter(condition);
    }
    let direction = if window.from_end == descending { Order::Asc } else { Order::Desc };
    for column in columns.iter().cloned() {
        query = query.order_by(column, direction.clone());
    }
    Ok(KeyPage::of(query.all(db).await?, total, window))
}

/// [`page`] by the numbers that the database assigned, newest first.
pub(super) async fn newest_first<E>(
    db: &impl ConnectionTrait,
    matching: Select<E>,
    id: impl ColumnTrait,
    window: &IdWindow,
) -> Result<KeyPage<E::Model>>
where
    E: EntityTrait<Model: Send + Sync>,
{
    let order = KeyOrder { columns: vec![id.into_simple_expr()], descending: true };
    page(db, matching, order, window, |id| vec![Expr::value(*id)]).await
}
