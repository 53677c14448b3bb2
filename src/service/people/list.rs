//! Lists of people from the directory, without SQL.

use std::fmt::Display;
use std::sync::Arc;

use crate::service::input::page::{CursorKey, Page, PageWindow, cut_window};

/// The filter of a list.
#[derive(Clone, Debug, Default)]
pub struct PeopleFilter {
    /// True for archived entities, false for the others.
    pub archived: bool,
    /// A part of the name or the display name, in either case.
    pub search: Option<String>,
}

impl PeopleFilter {
    pub(super) fn shows(&self, archived: bool, names: [Option<&str>; 2]) -> bool {
        let found = |part: &str| {
            let part = part.to_lowercase();
            names.iter().flatten().any(|name| name.to_lowercase().contains(&part))
        };
        archived == self.archived && self.search.as_deref().is_none_or(found)
    }
}

/// The parameters of a list of people.
#[derive(Clone, Debug)]
pub struct PeopleList {
    pub filter: PeopleFilter,
    pub window: PageWindow,
}

impl PeopleList {
    pub(super) fn page<T: Clone>(&self, name: &str, mut rows: Vec<T>, key: impl Fn(&T) -> Vec<CursorKey>) -> Page<T> {
        rows.sort_by_cached_key(&key);
        cut_window(name, &rows, key, &self.window)
    }

    /// Ordered by the name that is shown, otherwise the id; then by id.
    pub(super) fn by_name<T: Clone, I: Display>(
        &self,
        name: &str,
        rows: Vec<T>,
        row: impl Fn(&T) -> (Option<&Arc<str>>, I),
    ) -> Page<T> {
        self.page(name, rows, |of| {
            let (shown, id) = row(of);
            let id = id.to_string();
            vec![CursorKey::Text(shown.map_or_else(|| id.clone(), ToString::to_string)), CursorKey::Text(id)]
        })
    }
}
