//! The keys of kernels, in conditions.

use std::ops::Range;

use sea_orm::ColumnTrait;
use sea_orm::sea_query::Condition;

use crate::domain::ids::GroupKey;

/// True in SQL if a key belongs to one of the group's kernels.
pub(super) fn of_group(key: impl ColumnTrait, group: GroupKey) -> Condition {
    let Range { start, end } = group.kernels();
    Condition::all().add(key.gte(start)).add(key.lt(end))
}
