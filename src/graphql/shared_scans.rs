//! The scans of one GraphQL request. A query may contain the same list in several fields, under aliases or for several
//! pages. Fields with equal filters and orders share one scan of the group, and only the first of them is charged for
//! its rows.

use std::any::Any;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use async_graphql::Context;

use super::guard;
use super::query::service;
use crate::domain::ranking::PlacedRow;
use crate::service::input::page::Page;
use crate::service::shares::{OrderedShares, ShareList, ShareRow};
use crate::service::{Result, VisibleGroup};

/// The largest number of rows that the scans of one request keep, about 4 MiB. A scan beyond this is repeated, and
/// charged again.
const MAX_KEPT_ROWS: usize = 100_000;

/// The lists that the request has scanned so far, by tier, scope, snapshot of the group, order and filter.
#[derive(Default)]
pub struct SharedScans(Mutex<KeptScans>);

#[derive(Default)]
struct KeptScans {
    by_name: HashMap<String, Arc<dyn Any + Send + Sync>>,
    rows: usize,
}

impl SharedScans {
    fn find<T: Any + Send + Sync>(&self, name: &str) -> Option<Arc<T>> {
        let scans = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        Arc::clone(scans.by_name.get(name)?).downcast().ok()
    }

    fn keep<T: ShareRow>(&self, name: String, scan: OrderedShares<T>) {
        let mut scans = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if scans.rows + scan.count_rows() <= MAX_KEPT_ROWS {
            scans.rows += scan.count_rows();
            scans.by_name.insert(name, Arc::new(scan));
        }
    }
}

/// A page of the list of shares in `scope` of `group`. `scan` makes the whole list, and looks at `rows` rows for it.
pub async fn page_of_shares<T: ShareRow>(
    ctx: &Context<'_>,
    group: &VisibleGroup,
    (scope, rows): (&str, usize),
    list: &ShareList,
    scan: impl FnOnce() -> Result<OrderedShares<T>> + Send,
) -> Result<Page<PlacedRow<T>>> {
    let ShareList { filter, field, descending, window } = list;
    let tier = std::any::type_name::<T>();
    // Names of groups contain no slash, and the entity tag is different for each snapshot of the group.
    let name = format!("{tier}/{scope}/{}/{field:?}/{descending}/{filter:?}", group.etag());
    let scans = ctx.data_opt::<SharedScans>();
    let ordered = || {
        if let Some(known) = scans.and_then(|scans| scans.find::<OrderedShares<T>>(&name)) {
            return Ok(known.page(window));
        }
        guard::charge_rows(ctx, rows)?;
        let ordered = scan()?;
        let page = ordered.page(window);
        if let Some(scans) = scans {
            scans.keep(name, ordered);
        }
        Ok(page)
    };
    service(ctx)?.permits.scan(group.access().client(), rows, ordered).await
}
