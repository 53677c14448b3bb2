//! Resource groups and their scheduler options.

use std::sync::Arc;

use serde_json::{Map, Value, json};

use super::audit::{self, Change};
use super::published::options_etag;
use super::session::Session;
use super::{Caller, Error, Fault, PublishedGroup, Result, Service, detached};
use crate::domain::names::check_name;
use crate::domain::options::{OptionError, Options, merge_patch};
use crate::domain::sequencer::Sequencer;
use crate::store;

/// What a patch of a group asks for.
#[derive(Clone, Debug, Default)]
pub struct SchedulerPatch {
    pub scheduler: Option<String>,
    /// Merged key by key; `null` removes a key. What a PUT brings replaces all of them.
    pub scheduler_opts: Option<Map<String, Value>>,
    pub reason: Option<String>,
    /// The `options_etag` that the caller has seen; a newer one refuses the patch.
    pub if_match: Option<String>,
}

impl Service {
    /// Creates the group, or sets its scheduler and replaces its options, each if given. Returns whether it is new.
    pub async fn put_group(
        self: &Arc<Self>,
        caller: Caller,
        name: String,
        patch: SchedulerPatch,
    ) -> Result<(Arc<PublishedGroup>, bool)> {
        caller.require_admin()?;
        check_name(&name).map_err(|e| Error::invalid_name("/name", e))?;
        let service = Arc::clone(self);
        detached(async move {
            if service.published.get(&name).is_some() {
                let group = service.change_group(&caller, &name, patch, true).await?;
                return Ok((group, false));
            }
            if patch.if_match.is_some() {
                return Err(Error::StaleMatch);
            }
            let scheduler = patch.scheduler.clone().unwrap_or_else(|| "fairshare".to_owned());
            check_scheduler(&scheduler)?;
            let opts = patch.scheduler_opts.unwrap_or_default();
            let opts = merge_patch(&Map::new(), &opts).map_err(option_faults)?;
            let tx = service.store.begin().await?;
            let now = service.clock.now();
            if store::groups::find(&tx, &name).await?.is_some() {
                return Err(Error::Conflict {
                    code: "concurrent_change",
                    detail: "the group was just created by somebody else".to_owned(),
                });
            }
            store::groups::create(&tx, &name, &scheduler, &opts, now).await?;
            let after = Some(json!({"scheduler": scheduler, "scheduler_opts": opts}));
            let change = Change {
                caller: &caller,
                action: "resource_group.create",
                target: name.clone(),
                before: None,
                after,
                reason: patch.reason,
            };
            audit::write(&tx, change, Some(&name), now).await?;
            tx.commit().await.map_err(store::StoreError::from)?;
            service.refresh().await?;
            Ok((service.group(&name)?, true))
        })
        .await
    }

    /// Merges scheduler options, effective at once (§7, §8).
    pub async fn patch_scheduler_options(
        self: &Arc<Self>,
        caller: Caller,
        name: String,
        patch: SchedulerPatch,
    ) -> Result<Arc<PublishedGroup>> {
        caller.require_admin()?;
        let service = Arc::clone(self);
        detached(async move { service.change_group(&caller, &name, patch, false).await }).await
    }

    async fn change_group(
        self: &Arc<Self>,
        caller: &Caller,
        name: &str,
        patch: SchedulerPatch,
        replace: bool,
    ) -> Result<Arc<PublishedGroup>> {
        let mut session = Session::open(self, name).await?;
        let group = session.state().group.clone();
        let current = options_etag(&group.scheduler, &group.scheduler_opts);
        if patch.if_match.is_some_and(|seen| seen != current) {
            return Err(Error::StaleMatch);
        }
        let scheduler = patch.scheduler.unwrap_or_else(|| group.scheduler.clone());
        let sequencer = check_scheduler(&scheduler)?;
        let base = if replace && patch.scheduler_opts.is_some() { Map::new() } else { group.scheduler_opts.clone() };
        let opts = merge_patch(&base, &patch.scheduler_opts.unwrap_or_default()).map_err(option_faults)?;
        let options = Options::parse(&opts).map_err(option_faults)?;
        let before = session.state().options.clone();
        if scheduler == group.scheduler && opts == group.scheduler_opts {
            return self.group(name);
        }
        let update = session.update();
        update.scheduler = Some(scheduler.clone());
        update.scheduler_opts = Some(opts.clone());
        let state = session.state_mut();
        state.scheduler = sequencer;
        state.options = options.clone();
        state.group.scheduler.clone_from(&scheduler);
        state.group.scheduler_opts.clone_from(&opts);
        if before.decay_unit_days != options.decay_unit_days {
            let (tx, state) = session.parts();
            super::folding::rebuild_buckets(tx, state).await?;
        }
        if before.changes_factors(&options) {
            session.recompute_histories().await?;
        }
        let describe =
            |scheduler: &str, opts: &Map<String, Value>| Some(json!({"scheduler": scheduler, "scheduler_opts": opts}));
        session
            .audit(Change {
                caller,
                action: if replace { "resource_group.put" } else { "scheduler_options.patch" },
                target: name.to_owned(),
                before: describe(&group.scheduler, &group.scheduler_opts),
                after: describe(&scheduler, &opts),
                reason: patch.reason,
            })
            .await?;
        session.commit().await
    }

    /// Removes a group with all that belongs to it.
    pub async fn delete_group(self: &Arc<Self>, caller: Caller, name: String, reason: Option<String>) -> Result<()> {
        caller.require_admin()?;
        let service = Arc::clone(self);
        detached(async move {
            let session = Session::open(&service, &name).await?;
            let group = session.state().group.clone();
            store::groups::delete(session.tx(), &name).await?;
            let before = Some(json!({"scheduler": group.scheduler, "scheduler_opts": group.scheduler_opts}));
            let change = Change {
                caller: &caller,
                action: "resource_group.delete",
                target: name.clone(),
                before,
                after: None,
                reason,
            };
            audit::write(session.tx(), change, Some(&name), session.now).await?;
            session.commit_deleted().await?;
            Ok(())
        })
        .await
    }
}

fn check_scheduler(name: &str) -> Result<Sequencer> {
    Sequencer::by_name(name).ok_or_else(|| {
        let known: Vec<_> = Sequencer::names().collect();
        Error::invalid("/scheduler", "unknown_scheduler", format!("a scheduler is one of {}", known.join(", ")))
    })
}

fn option_faults(errors: Vec<OptionError>) -> Error {
    Error::Invalid(
        errors.into_iter().map(|e| Fault::new(format!("/scheduler_opts{}", e.pointer), e.code, e.detail)).collect(),
    )
}
