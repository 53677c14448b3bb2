//! Lists: the parameters `limit` and `cursor`, and the result `{items, next_cursor, total}`.

use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use super::problem::Result;
use crate::service::input::page::{Cursor, CursorKey, MAX_PAGE, Page, PageWindow, check_limit, cut_window};

/// A page of a list.
#[derive(Debug, Serialize, ToSchema)]
pub struct List<T> {
    pub items: Vec<T>,
    /// Where the next page starts; absent on the last page.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next_cursor: Option<String>,
    /// Rows of the whole list.
    #[schema(example = 1)]
    pub total: u64,
}

impl<T> List<T> {
    /// All rows as one page.
    pub fn whole(items: Vec<T>) -> Self {
        Self { total: items.len() as u64, items, next_cursor: None }
    }

    /// The same page with each row converted.
    pub fn map<V>(self, of: impl Fn(T) -> V) -> List<V> {
        let Self { items, next_cursor, total } = self;
        List { items: items.into_iter().map(of).collect(), next_cursor, total }
    }
}

/// A list of one owner. Cursors are valid for the same list and owner only.
#[derive(Clone, Debug)]
pub struct ListCursor {
    /// The name of the list in the service.
    list: String,
    /// The resource group. A cursor of another group's list is refused.
    scope: String,
}

impl ListCursor {
    pub fn new(list: impl Into<String>, scope: impl Into<String>) -> Self {
        Self { list: list.into(), scope: scope.into() }
    }

    /// The window for `limit` and `cursor`.
    pub fn window(&self, limit: Option<i64>, cursor: Option<&str>) -> Result<PageWindow> {
        let limit = check_limit(limit, "/limit", MAX_PAGE)?;
        let after = cursor.map(|text| Cursor::decode_scoped(text, &self.list, &self.scope, "/cursor")).transpose()?;
        Ok(PageWindow::forward(limit, after))
    }

    /// The response with a page from the service.
    pub fn answer<T, V: From<T>>(&self, page: Page<T>) -> List<V> {
        let next = page.rows.last().filter(|_| page.has_next);
        let next_cursor = next.map(|(cursor, _)| cursor.encode_scoped(&self.scope));
        List { next_cursor, total: page.total, items: page.rows.into_iter().map(|(_, row)| V::from(row)).collect() }
    }

    /// The response with a page of `rows`, which are all rows of the list in the order of `key`.
    pub fn cut<T: Clone, V: From<T>>(
        &self,
        rows: &[T],
        key: impl Fn(&T) -> Vec<CursorKey>,
        window: &PageWindow,
    ) -> List<V> {
        self.answer(cut_window(&self.list, rows, key, window))
    }
}

/// The parameters of a list that has no filter.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct PageQuery {
    /// Rows of a page, 1 to 1000; 100 by default.
    #[param(default = 100)]
    pub limit: Option<i64>,
    /// `next_cursor` of the page before.
    pub cursor: Option<String>,
}
