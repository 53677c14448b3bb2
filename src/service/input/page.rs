//! Pages of lists, for REST and GraphQL. A cursor contains the name of the list and the sort key of a row, not a
//! position. So the next page continues after that key, whatever was inserted or moved meanwhile.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde::{Deserialize, Serialize};

use crate::domain::time::Day;
use crate::engine::error::{Error, Result};
use crate::store::key_list::{IdWindow, KeyPage, KeyWindow};

/// The largest page of a list, in rows.
pub const MAX_PAGE: u32 = 1000;
/// The size of a page if the request contains none, in rows.
pub const DEFAULT_PAGE: u32 = 100;

/// A part of a sort key. The parts of one list are compared by value.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(untagged)]
pub enum CursorKey {
    Number(u64),
    Text(String),
}

/// The position of a row in a list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cursor {
    pub list: String,
    pub key: Vec<CursorKey>,
}

/// The name of a list of one owner, so that a cursor of another owner's list is refused.
fn scoped_list(list: &str, scope: &str) -> String {
    format!("{list}@{scope}")
}

impl Cursor {
    pub fn new(list: impl Into<String>, key: Vec<CursorKey>) -> Self {
        Self { list: list.into(), key }
    }

    /// The cursor, valid only for the list of one owner.
    pub fn encode_scoped(&self, scope: &str) -> String {
        Self { list: scoped_list(&self.list, scope), key: self.key.clone() }.encode()
    }

    /// Decodes a cursor of one owner's `list`.
    pub fn decode_scoped(text: &str, list: &str, scope: &str, pointer: &str) -> Result<Self> {
        let found = Self::decode(text, &scoped_list(list, scope), pointer)?;
        Ok(Self { list: list.to_owned(), key: found.key })
    }

    pub fn encode(&self) -> String {
        let json = serde_json::to_vec(&(&self.list, &self.key)).unwrap_or_default();
        URL_SAFE_NO_PAD.encode(json)
    }

    /// Decodes a cursor of `list`; refuses one of another list.
    pub fn decode(text: &str, list: &str, pointer: &str) -> Result<Self> {
        let fault = |said: &str| Error::about(pointer, "invalid_cursor", said);
        let bytes = URL_SAFE_NO_PAD.decode(text).map_err(|_| fault("is not a cursor of this service"))?;
        let (of, key): (String, Vec<CursorKey>) =
            serde_json::from_slice(&bytes).map_err(|_| fault("is not a cursor of this service"))?;
        if of != list {
            return Err(fault("belongs to another list or another order"));
        }
        Ok(Self { list: of, key })
    }
}

/// Checks the size of a page.
pub fn check_limit(limit: Option<i64>, pointer: &str, max: u32) -> Result<u32> {
    match limit {
        None => Ok(DEFAULT_PAGE.min(max)),
        Some(n) => u32::try_from(n)
            .ok()
            .filter(|n| (1..=max).contains(n))
            .ok_or_else(|| Error::about(pointer, "invalid_page_size", format!("is not a page size from 1 to {max}"))),
    }
}

/// The wanted rows of a sorted list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PageWindow {
    /// At most [`MAX_PAGE`] unless the list allows more.
    pub limit: u32,
    /// True if the last rows are wanted instead of the first.
    pub from_end: bool,
    pub after: Option<Cursor>,
    pub before: Option<Cursor>,
    pub offset: u64,
}

impl PageWindow {
    /// The first `limit` rows after `after`.
    pub fn forward(limit: u32, after: Option<Cursor>) -> Self {
        Self { limit, from_end: false, after, before: None, offset: 0 }
    }

    /// True if rows follow the page, and true if rows precede it. `cut_window` is true if reading stopped at `limit`.
    pub fn neighbours(&self, cut: bool) -> (bool, bool) {
        if self.from_end {
            (self.before.is_some() || self.offset > 0, cut || self.after.is_some())
        } else {
            (cut || self.before.is_some(), self.after.is_some() || self.offset > 0)
        }
    }
}

/// A page of a list.
#[derive(Clone, Debug)]
pub struct Page<T> {
    /// The rows, each with its cursor.
    pub rows: Vec<(Cursor, T)>,
    pub has_next: bool,
    pub has_previous: bool,
    /// Rows of the whole list.
    pub total: u64,
}

impl<T> Page<T> {
    /// The cursor of the next page, if there is one.
    pub fn next_cursor(&self) -> Option<String> {
        self.rows.last().filter(|_| self.has_next).map(|(cursor, _)| cursor.encode())
    }

    pub fn map<U>(self, f: impl Fn(T) -> U) -> Page<U> {
        let Self { rows, has_next, has_previous, total } = self;
        Page { rows: rows.into_iter().map(|(c, t)| (c, f(t))).collect(), has_next, has_previous, total }
    }
}

/// A key that ascends with the day.
pub(in crate::service) fn day_key(day: Day) -> CursorKey {
    CursorKey::Number(u64::from(day.0.cast_unsigned() ^ (1 << 31)))
}

pub(in crate::service) fn key_day(key: u64) -> Day {
    Day((u32::try_from(key).unwrap_or(u32::MAX) ^ (1 << 31)).cast_signed())
}

/// A window of a list that the store reads by a key; `key` extracts it from a cursor.
pub(in crate::service) fn key_window<K>(
    window: &PageWindow,
    key: impl Fn(&[CursorKey]) -> Option<K>,
) -> Result<KeyWindow<K>> {
    let place =
        |cursor: &Option<Cursor>| cursor.as_ref().map(|c| key(&c.key).ok_or_else(Error::other_cursor)).transpose();
    Ok(KeyWindow {
        after: place(&window.after)?,
        before: place(&window.before)?,
        from_end: window.from_end,
        offset: window.offset,
        limit: window.limit.into(),
    })
}

/// The page that the store read with [`key_window`].
pub(in crate::service) fn key_page<T>(
    list: &str,
    found: KeyPage<T>,
    key: impl Fn(&T) -> Vec<CursorKey>,
    window: &PageWindow,
) -> Page<T> {
    let (has_next, has_previous) = window.neighbours(found.cut);
    let rows = found.rows.into_iter().map(|row| (Cursor::new(list, key(&row)), row)).collect();
    Page { rows, has_next, has_previous, total: found.total }
}

/// A window of a list with numbered rows.
pub(in crate::service) fn id_window(window: &PageWindow) -> Result<IdWindow> {
    key_window(window, |key| match key {
        [CursorKey::Number(n)] => i64::try_from(*n).ok(),
        _ => None,
    })
}

/// The page that the store read with [`id_window`].
pub(in crate::service) fn id_page<T>(
    list: &str,
    found: KeyPage<T>,
    id: impl Fn(&T) -> i64,
    window: &PageWindow,
) -> Page<T> {
    key_page(list, found, |row| vec![CursorKey::Number(id(row).unsigned_abs())], window)
}

/// The part of rows ascending by `key` that is in the window.
pub fn cut_window<T: Clone>(
    list: &str,
    sorted: &[T],
    key: impl Fn(&T) -> Vec<CursorKey>,
    window: &PageWindow,
) -> Page<T> {
    let mut from = window.after.as_ref().map_or(0, |c| sorted.partition_point(|row| key(row) <= c.key));
    let mut to =
        window.before.as_ref().map_or(sorted.len(), |c| sorted.partition_point(|row| key(row) < c.key)).max(from);
    let skip = usize::try_from(window.offset).unwrap_or(usize::MAX);
    let limit = window.limit as usize;
    if window.from_end {
        to = to.saturating_sub(skip).max(from);
        from = to.saturating_sub(limit).max(from);
    } else {
        from = from.saturating_add(skip).min(to);
        to = from.saturating_add(limit).min(to);
    }
    Page {
        rows: sorted[from..to].iter().map(|row| (Cursor::new(list, key(row)), row.clone())).collect(),
        has_next: to < sorted.len(),
        has_previous: from > 0,
        total: sorted.len() as u64,
    }
}

/// The part of rows ascending by `key` that is in the window, backwards if `descending`.
pub fn cut_ordered<T: Clone>(
    list: &str,
    ascending: &[T],
    key: impl Fn(&T) -> Vec<CursorKey>,
    window: &PageWindow,
    descending: bool,
) -> Page<T> {
    if !descending {
        return cut_window(list, ascending, key, window);
    }
    let mirrored = PageWindow {
        from_end: !window.from_end,
        after: window.before.clone(),
        before: window.after.clone(),
        ..window.clone()
    };
    let mut page = cut_window(list, ascending, key, &mirrored);
    page.rows.reverse();
    Page { has_next: page.has_previous, has_previous: page.has_next, ..page }
}
