//! Changes of a group's scheduler and options (FAIR_SHARE §7, §8).

use std::collections::BTreeSet;

use serde_json::{Map, Value, json};

use crate::domain::fault::Fault;
use crate::domain::options::{FairShareOptions, merge_patch};
use crate::domain::sequencer::Sequencer;
use crate::domain::slots::{SlotNameSource, with_slot_name_source};
use crate::engine::accounting::day_totals;
use crate::engine::accounting::folding::rebuild_buckets;
use crate::engine::audit::option_label;
use crate::engine::error::{Error, Result};
use crate::engine::group::state::GroupState;
use crate::engine::group::transaction::GroupTransaction;
use crate::store::{ConnectionTrait, StreamTrait};

/// A scheduler and its options, checked.
#[derive(Clone, Debug)]
pub struct OptionsChange {
    pub scheduler: String,
    pub opts: Map<String, Value>,
    sequencer: Sequencer,
    options: FairShareOptions,
}

/// The scheduler and the options in a request.
#[derive(Clone, Debug, Default)]
pub struct OptionsPatch {
    pub scheduler: Option<String>,
    /// Merged key by key; `null` removes a key.
    pub scheduler_opts: Option<Map<String, Value>>,
}

impl OptionsChange {
    /// Applies `patch` to the options `base` of a group that has `scheduler`. `source` is the origin of the slot names in
    /// the patch.
    pub fn plan(
        source: &SlotNameSource,
        scheduler: &str,
        base: &Map<String, Value>,
        patch: OptionsPatch,
    ) -> Result<Self> {
        let scheduler = patch.scheduler.unwrap_or_else(|| scheduler.to_owned());
        with_slot_name_source(source, || {
            let opts = merge_patch(base, &patch.scheduler_opts.unwrap_or_default()).map_err(option_faults)?;
            Self::of(scheduler, opts)
        })
    }

    pub fn of(scheduler: String, opts: Map<String, Value>) -> Result<Self> {
        let sequencer = check_scheduler(&scheduler)?;
        let options = FairShareOptions::parse(&opts).map_err(option_faults)?;
        Ok(Self { scheduler, opts, sequencer, options })
    }

    /// True if the group has this scheduler and these options in force. Setting an option to its default changes nothing.
    pub fn is_of(&self, state: &GroupState) -> bool {
        self.scheduler == state.group.scheduler && self.options == state.options
    }

    /// Sets scheduler and options. Returns true if usage has to be calculated again.
    pub async fn take(self, db: &(impl ConnectionTrait + StreamTrait), state: &mut GroupState) -> Result<bool> {
        let Self { scheduler, opts, sequencer, options } = self;
        state.scheduler = sequencer;
        state.group.scheduler = scheduler;
        state.group.scheduler_opts = opts;
        let before = std::mem::replace(&mut state.options, options);
        if before.decay_unit_days != state.options.decay_unit_days {
            state.forget_longest_bucket();
            let known_from = state.known_from();
            rebuild_buckets(db, state, known_from).await?;
        }
        Ok(before.changes_factors(&state.options))
    }

    /// Sets scheduler and options in a transaction of the group. Buckets, factors and ranks follow.
    pub(crate) async fn make(self, session: &mut GroupTransaction) -> Result<()> {
        if self.scheduler != session.state().group.scheduler || self.options != session.state().options {
            session.reconfigure();
        }
        if self.options.decay_unit_days != session.state().options.decay_unit_days {
            // Where records are purged, the new buckets are summed from day totals, which must be complete for that.
            day_totals::backfill(session).await?;
        }
        let (tx, state) = session.parts();
        if self.take(tx, state).await? {
            session.recompute_histories().await?;
        }
        Ok(())
    }
}

/// A scheduler and its options as the audit log shows them.
pub fn describe(scheduler: &str, opts: &Map<String, Value>) -> Value {
    json!({"scheduler": scheduler, "scheduler_opts": opts})
}

/// The names of the values that differ between two descriptions.
pub fn changed_names(before: &Value, after: &Value) -> Vec<String> {
    let keys = |of: &Value| -> BTreeSet<String> {
        of["scheduler_opts"].as_object().into_iter().flat_map(Map::keys).cloned().collect()
    };
    let all = &keys(before) | &keys(after);
    let differs = |key: &String| before["scheduler_opts"].get(key) != after["scheduler_opts"].get(key);
    let scheduler = (before["scheduler"] != after["scheduler"]).then(|| "scheduler".to_owned());
    all.into_iter().filter(differs).chain(scheduler).map(|key| option_label(&key)).collect()
}

pub fn check_scheduler(name: &str) -> Result<Sequencer> {
    Sequencer::by_name(name).ok_or_else(|| {
        let known: Vec<_> = Sequencer::names().collect();
        Error::about("/scheduler", "unknown_scheduler", format!("is not one of {}", known.join(", ")))
    })
}

pub fn option_faults(faults: Vec<Fault>) -> Error {
    Error::Invalid(faults.into_iter().map(|fault| fault.below("/scheduler_opts")).collect())
}
