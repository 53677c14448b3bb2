//! Changes of one group on behalf of a caller, whose key must reach the group. The use-case checks the caller's role.

use std::sync::Arc;

use super::{Caller, Result, Service, VisibleGroup};
use crate::engine::group::transaction::GroupTransaction;

impl Service {
    /// Changes one group: all changes of `change` are kept or, if it fails, none.
    pub(super) async fn change<T>(
        self: Arc<Self>,
        caller: Caller,
        group: String,
        change: impl AsyncFnOnce(&mut GroupTransaction) -> Result<T>,
    ) -> Result<T> {
        caller.require_group(&group)?;
        Ok(Arc::clone(&self.engine).change(caller.author(), group, change).await?.0)
    }

    /// [`Service::change`], and the group as the caller sees it afterwards.
    pub(super) async fn change_and_see<T>(
        self: Arc<Self>,
        caller: Caller,
        group: String,
        change: impl AsyncFnOnce(&mut GroupTransaction) -> Result<T>,
    ) -> Result<(T, VisibleGroup)> {
        caller.require_group(&group)?;
        let changed = Arc::clone(&self.engine).change(caller.author(), group.clone(), change).await?;
        let (value, group_snapshot) = changed;
        Ok((value, VisibleGroup::new(&caller, &group, || group_snapshot)?))
    }

    /// Runs `change` and rolls back, to return the result that the change would have.
    pub(super) async fn preview<T>(
        self: Arc<Self>,
        caller: Caller,
        group: String,
        change: impl AsyncFnOnce(&mut GroupTransaction) -> Result<T>,
    ) -> Result<T> {
        caller.require_group(&group)?;
        Arc::clone(&self.engine).preview(caller.author(), group, change).await
    }
}
