//! Publishes groups again that show changed people. People belong to the whole server, so a change of a project or user in
//! one place shows in the snapshots of several groups.

use std::sync::Arc;

use super::snapshots::rows::RankedRows;
use super::transaction::GroupTransaction;
use crate::engine::FairShareEngine;
use crate::engine::audit::AuditAuthor;
use crate::engine::error::Result;

/// Publishes all groups again for which `shows` is true, because they show changed people.
pub async fn publish_where(engine: &Arc<FairShareEngine>, shows: impl Fn(&str, &RankedRows) -> bool) {
    let groups = engine.published_groups();
    for group in groups.into_iter().filter(|group| shows(&group.facts.name, &group.facts.rows)) {
        // The change is stored already. A group that cannot be written now shows it with its next write.
        if let Err(error) = publish_again(engine, &group.facts.name).await {
            tracing::warn!(group = &*group.facts.name, %error, "a change of people shows later in this group");
        }
    }
}

async fn publish_again(engine: &Arc<FairShareEngine>, group: &str) -> Result<()> {
    let change = async |session: &mut GroupTransaction| {
        session.show_again();
        session.reconfigure();
        Ok(())
    };
    Arc::clone(engine).change(AuditAuthor::job(), group.to_owned(), change).await?;
    Ok(())
}
