//! The parameters of a list of shares: order, filter and page.

use crate::domain::filter::Filter;
use crate::graphql::connection::PageArgs;
use crate::service::Result;
use crate::service::shares::{ShareCondition, ShareField, ShareList, share_list_name};

/// The order of a list without an order argument.
const BY_RANK: (ShareField, bool) = (ShareField::Rank, false);

/// The list of a tier. `order` is a field, and true for descending; `scope` distinguishes the lists of one tier.
pub fn share_list(
    tier: &str,
    order: Option<(ShareField, bool)>,
    filter: Filter<ShareCondition>,
    page: &PageArgs,
    scope: &str,
) -> Result<ShareList> {
    let (field, descending) = order.unwrap_or(BY_RANK);
    let window = page.window(&share_list_name(tier, field, descending), scope)?;
    Ok(ShareList { filter, field, descending, window })
}
