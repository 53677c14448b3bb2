//! Resource groups and their scheduler options.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::{Map, Value, json};

use super::{Caller, Error, Result, Service};
use crate::api::input_warning::InputWarning;
use crate::domain::names::check_name;
use crate::domain::options::merge_patch;
use crate::domain::sequencer::Sequencer;
use crate::engine::accounting::shorter_lookback;
use crate::engine::audit::AuditedChange;
use crate::engine::group::changes::options::{
    OptionsChange, OptionsPatch, changed_names, check_scheduler, describe, option_faults,
};
use crate::engine::group::snapshots::profile::is_etag_of;
use crate::engine::group::transaction::GroupTransaction;
use crate::engine::work::run_to_completion;
use crate::service::visible_group::VisibleGroup;
use crate::store;
use crate::store::groups::GroupContents;

/// The parameters of a patch of a group.
#[derive(Clone, Debug, Default)]
pub struct SchedulerPatch {
    pub scheduler: Option<String>,
    /// Merged key by key; `null` removes a key. A PUT replaces all options instead.
    pub scheduler_opts: Option<Map<String, Value>>,
    pub reason: Option<String>,
    /// The `options_etag` that the caller has seen. The patch is refused if the present one differs.
    pub if_match: Option<String>,
    /// The `config_revision` that the caller has seen. The patch is refused if the present one differs.
    pub if_revision: Option<String>,
}

impl Service {
    /// Creates the group, or sets its scheduler and replaces its options, as far as they are given. Returns true if it
    /// is new. If several clients create one name at the same time, one creates the group and the others change it.
    #[tracing::instrument(name = "service.groups.put_group", level = "debug", skip_all, fields(group = name), err(level = "debug"))]
    pub async fn put_group(
        self: &Arc<Self>,
        caller: Caller,
        name: String,
        patch: SchedulerPatch,
    ) -> Result<(VisibleGroup, bool)> {
        caller.require_admin()?;
        caller.require_group(&name)?;
        // An existing group keeps its name, even if a newer rule would refuse it.
        if !self.engine.has_group(&name) {
            check_name(&name).map_err(|e| Error::invalid_name("/name", e))?;
        }
        let scheduler = patch.scheduler.clone().unwrap_or_else(|| Sequencer::DEFAULT_NAME.to_owned());
        check_scheduler(&scheduler)?;
        let opts = patch.scheduler_opts.clone().unwrap_or_default();
        let opts = merge_patch(&Map::new(), &opts).map_err(option_faults)?;
        let service = Arc::clone(self);
        run_to_completion(async move {
            let opened =
                GroupTransaction::open_or_create(&service.engine, caller.author(), &name, &scheduler, &opts).await?;
            let (session, is_new) = opened;
            let change = async |session: &mut GroupTransaction| {
                if !is_new {
                    return change_group(session, patch, true).await;
                }
                if patch.if_match.is_some() {
                    return Err(Error::StaleMatch);
                }
                session.require_revision(patch.if_revision.as_deref()).await?;
                let entry = AuditedChange {
                    action: "resource_group.create",
                    target: name.clone(),
                    before: None,
                    after: Some(describe(&scheduler, &opts)),
                    reason: patch.reason,
                };
                session.audit(entry).await?;
                Ok(Vec::new())
            };
            let (warnings, group_snapshot) = session.run(change).await?;
            Ok((VisibleGroup::new(&caller, &name, || group_snapshot)?.warned(warnings), is_new))
        })
        .await
    }

    /// Merges scheduler options, effective at once (FAIR_SHARE §7, §8).
    #[tracing::instrument(name = "service.groups.patch_scheduler_options", level = "debug", skip_all, fields(group = name), err(level = "debug"))]
    pub async fn patch_scheduler_options(
        self: &Arc<Self>,
        caller: Caller,
        name: String,
        patch: SchedulerPatch,
    ) -> Result<VisibleGroup> {
        caller.require_admin()?;
        let change = async move |session: &mut GroupTransaction| change_group(session, patch, false).await;
        let (warnings, group) = run_to_completion(Arc::clone(self).change_and_see(caller, name, change)).await?;
        Ok(group.warned(warnings))
    }

    /// Removes a group with everything that belongs to it. If it has kernels or history, the name has to be confirmed;
    /// if kernels run in it, the request needs `force`.
    #[tracing::instrument(name = "service.groups.delete_group", level = "debug", skip_all, fields(group = name), err(level = "debug"))]
    pub async fn delete_group(self: &Arc<Self>, caller: Caller, name: String, deletion: GroupDeletion) -> Result<()> {
        caller.require_admin()?;
        let change = async move |session: &mut GroupTransaction| {
            let group = session.state().group.clone();
            deletion
                .check(&group.name, store::groups::count_contents(session.read(), &group.name, group.key).await?)?;
            let gone = store::groups::delete(session.write(), &group.name, group.key).await?;
            let mut before = describe(&group.scheduler, &group.scheduler_opts);
            before["removed"] = json!(gone);
            let entry = AuditedChange {
                action: "resource_group.delete",
                target: group.name,
                before: Some(before),
                after: None,
                reason: deletion.reason,
            };
            session.audit(entry).await?;
            session.delete();
            Ok(())
        };
        run_to_completion(Arc::clone(self).change(caller, name, change)).await
    }
}

/// The confirmation of the deletion of a group.
#[derive(Clone, Debug, Default)]
pub struct GroupDeletion {
    /// The name of the group.
    pub confirm: Option<String>,
    /// Deletes the group even if kernels run in it.
    pub force: bool,
    pub reason: Option<String>,
}

impl GroupDeletion {
    fn check(&self, name: &str, contents: GroupContents) -> Result<()> {
        let GroupContents { kernels, running, usage_records, usage_buckets, day_totals, usage_histories } = contents;
        let counts = BTreeMap::from([
            ("kernels", kernels),
            ("running_kernels", running),
            ("usage_records", usage_records),
            ("usage_buckets", usage_buckets),
            ("day_totals", day_totals),
            ("usage_histories", usage_histories),
        ]);
        let has_history = kernels + usage_records + usage_buckets + day_totals + usage_histories > 0;
        if has_history && self.confirm.as_deref() != Some(name) {
            let detail = format!(
                "the resource group {name:?} has {kernels} kernels, {running} of them running, {usage_records} usage records, \
                 {usage_buckets} usage buckets, {day_totals} day totals and {usage_histories} usage histories; to remove all \
                 of them, repeat with confirm={name}"
            );
            return Err(Error::Guarded { code: "confirmation_needed", detail, counts });
        }
        if running > 0 && !self.force {
            let detail = format!(
                "{running} kernels run in the resource group {name:?}; let them end, or repeat with force=true"
            );
            return Err(Error::Guarded { code: "kernels_running", detail, counts });
        }
        Ok(())
    }
}

/// Merges or replaces the scheduler and its options, and updates what depends on them. Returns probable mistakes in
/// them.
async fn change_group(
    session: &mut GroupTransaction,
    patch: SchedulerPatch,
    replace: bool,
) -> Result<Vec<InputWarning>> {
    session.require_revision(patch.if_revision.as_deref()).await?;
    let group = session.state().group.clone();
    if patch.if_match.is_some_and(|seen| !is_etag_of(&seen, &group.scheduler, &group.scheduler_opts)) {
        return Err(Error::StaleMatch);
    }
    let base = if replace && patch.scheduler_opts.is_some() { Map::new() } else { group.scheduler_opts.clone() };
    let wanted = OptionsPatch { scheduler: patch.scheduler, scheduler_opts: patch.scheduler_opts };
    let change = OptionsChange::plan(&session.slot_name_source(), &group.scheduler, &base, wanted)?;
    if change.is_of(session.state()) {
        return Ok(Vec::new());
    }
    let options = session.state().options.clone();
    let before = describe(&group.scheduler, &group.scheduler_opts);
    let after = describe(&change.scheduler, &change.opts);
    change.make(session).await?;
    let targets = changed_names(&before, &after);
    let entry = AuditedChange {
        action: if replace { "resource_group.put" } else { "scheduler_options.patch" },
        target: group.name,
        before: Some(before),
        after: Some(after),
        reason: patch.reason,
    };
    session.audit_of(entry, &targets).await?;
    shorter_lookback::warnings(session, &options).await
}
