//! What a list of shares is asked for: its order, its filter and its page.

use crate::domain::filter::Filter;
use crate::graphql::connection::PageArgs;
use crate::service::Result;
use crate::service::shares::{ShareCondition, ShareField, ShareList, share_list_name};

/// Without an order, lists come by rank.
const BY_RANK: (ShareField, bool) = (ShareField::Rank, false);

/// The list of a tier, ordered by a field and descending or not; `scope` tells lists of one tier apart.
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
