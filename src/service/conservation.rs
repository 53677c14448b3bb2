//! The audit of conservation for callers.

use std::sync::Arc;

use super::{Caller, Result, Service};
use crate::engine::accounting::conservation::ConservationResult;
use crate::engine::work::run_to_completion;

impl Service {
    /// Audits one group as of one moment. No writer waits for it.
    pub async fn audit_conservation(self: &Arc<Self>, caller: &Caller, group: &str) -> Result<ConservationResult> {
        caller.require_reader()?;
        caller.require_group(group)?;
        let (service, group) = (Arc::clone(self), group.to_owned());
        let client = caller.client();
        run_to_completion(async move {
            let _permit = service.report_permits.acquire(client).await?;
            service.engine.audit_conservation(&group).await
        })
        .await
    }
}
