//! Connections: the page arguments of a list, and its result with `edges`, `pageInfo` and `count`.

use async_graphql::connection::{Connection, ConnectionNameType, DisableNodesField, Edge, EdgeNameType, EmptyFields};
use async_graphql::{Context, ObjectType, OutputType, SimpleObject};

use super::guard;
use crate::service::input::page::{Cursor, MAX_PAGE, Page, PageWindow, check_limit};
use crate::service::{Error, Result};

/// Names the connection and edge types: the list of `FairShareWeightNode` is a `FairShareWeightConnection`.
pub struct ListName;

impl ConnectionNameType for ListName {
    fn type_name<T: OutputType>() -> String {
        format!("{}Connection", T::type_name().trim_end_matches("Node"))
    }
}

impl EdgeNameType for ListName {
    fn type_name<T: OutputType>() -> String {
        format!("{}Edge", T::type_name().trim_end_matches("Node"))
    }
}

/// The figures of a list as a whole.
#[derive(SimpleObject)]
pub struct ListFacts {
    /// Rows that match, on all pages together.
    pub count: u64,
}

pub type FactsList<T> = ListWith<T, ListFacts>;

/// A list with the fields of `W`, which are about the list as a whole.
pub type ListWith<T, W> = Connection<String, T, W, EmptyFields, ListName, ListName, DisableNodesField>;

/// The page arguments of a list as they are in the request.
#[derive(Clone, Debug, Default)]
pub struct PageArgs {
    pub first: Option<i64>,
    pub last: Option<i64>,
    pub before: Option<String>,
    pub after: Option<String>,
    pub offset: Option<i64>,
}

impl PageArgs {
    /// The window of rows that the arguments select. `list` is the name of the list, `scope` its owner: a resource
    /// group, or a part of one.
    pub fn window(&self, list: &str, scope: &str) -> Result<PageWindow> {
        if self.first.is_some() && self.last.is_some() {
            return Err(Error::about("/last", "invalid_page", "does not go with `first`"));
        }
        let (limit, pointer) = if self.last.is_some() { (self.last, "/last") } else { (self.first, "/first") };
        let cursor = |text: &Option<String>, pointer: &str| {
            text.as_ref().map(|text| Cursor::decode_scoped(text, list, scope, pointer)).transpose()
        };
        let offset = u64::try_from(self.offset.unwrap_or(0))
            .ok()
            .filter(|n| i64::try_from(*n).is_ok())
            .ok_or_else(|| Error::about("/offset", "invalid_offset", "is not a whole number, 0 or more"))?;
        Ok(PageWindow {
            limit: check_limit(limit, pointer, MAX_PAGE)?,
            from_end: self.last.is_some(),
            after: cursor(&self.after, "/after")?,
            before: cursor(&self.before, "/before")?,
            offset,
        })
    }
}

/// Converts a page of a list into a connection. `node` makes the node of each row.
pub fn connect<T, N: OutputType>(
    ctx: &Context<'_>,
    scope: &str,
    page: Page<T>,
    node: impl Fn(T) -> N,
) -> Result<FactsList<N>> {
    let whole = ListFacts { count: page.total };
    connect_with(ctx, scope, page, whole, node)
}

/// [`connect`] for a list with fields about the list as a whole.
pub fn connect_with<T, N: OutputType, W: ObjectType>(
    ctx: &Context<'_>,
    scope: &str,
    page: Page<T>,
    whole: W,
    node: impl Fn(T) -> N,
) -> Result<ListWith<N, W>> {
    guard::spend_rows(ctx, page.rows.len())?;
    let mut list = ListWith::with_additional_fields(page.has_previous, page.has_next, whole);
    list.edges.extend(page.rows.into_iter().map(|(cursor, row)| Edge::new(cursor.encode_scoped(scope), node(row))));
    Ok(list)
}
