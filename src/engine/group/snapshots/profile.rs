//! The part of a snapshot that every caller whose key reaches the group may see: the scheduler, the options, and the time of
//! the last calculation.

use std::sync::Arc;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde_json::{Map, Value};
use sha2::{Digest, Sha256};

use crate::domain::explain::count::ContributionScale;
use crate::domain::factor::DecayedHistory;
use crate::domain::hierarchy::Share;
use crate::domain::ids::GroupKey;
use crate::domain::options::FairShareOptions;
use crate::domain::sequencer::Sequencer;
use crate::domain::slots::{SlotAmounts, SlotName};
use crate::domain::time::{Day, Timestamp};
use crate::domain::weight::{EffectiveWeight, Weight};
use crate::engine::group::revision::ConfigRevision;
use crate::engine::group::state::GroupState;
use crate::store::revision::TaggedRevision;

pub use crate::engine::group::state::LastCalculation;

/// The properties of a group, without its shares and kernels.
#[derive(Clone, Debug)]
pub struct GroupProfile {
    pub name: Arc<str>,
    pub key: GroupKey,
    /// Records of earlier days were purged.
    pub(crate) records_from: Option<Day>,
    /// Buckets and day totals of earlier days were purged.
    pub(crate) totals_from: Option<Day>,
    pub scheduler: Sequencer,
    /// As configured by the admin.
    pub scheduler_opts: Map<String, Value>,
    pub options: FairShareOptions,
    pub revision: TaggedRevision,
    pub kernels_revision: TaggedRevision,
    pub config_revision: ConfigRevision,
    pub created_at: Timestamp,
    /// The time at which reports last brought kernels that ended before every look-back.
    pub(super) backfilled_at: Option<Timestamp>,
    pub calculation: Option<LastCalculation>,
    pub capacity: SlotAmounts,
    /// The slots that any agent has, in service or not, by name.
    pub agent_slots: Arc<[SlotName]>,
}

impl GroupProfile {
    pub(super) fn of(state: &GroupState) -> Self {
        Self {
            name: Arc::from(state.group.name.as_str()),
            key: state.group.key,
            records_from: state.group.records_from,
            totals_from: state.group.totals_from,
            scheduler: state.scheduler,
            scheduler_opts: state.group.scheduler_opts.clone(),
            options: state.options.clone(),
            revision: state.group.shares_revision,
            kernels_revision: state.group.kernels_revision,
            config_revision: ConfigRevision::of(&state.group),
            created_at: state.group.created_at,
            backfilled_at: state.group.backfilled_at,
            calculation: state.calculation.clone(),
            capacity: state.capacity.clone(),
            agent_slots: Arc::clone(&state.agent_slots),
        }
    }

    /// The day and the options by which buckets count: those of the last calculation, or the current ones before the first
    /// calculation.
    pub fn scale(&self, now: Timestamp) -> ContributionScale<'_> {
        match &self.calculation {
            Some(last) => ContributionScale { options: &last.options, today: last.lookback_end },
            None => ContributionScale { options: &self.options, today: now.day() },
        }
    }

    /// The time from which the first purge waits: the creation of the group, or the last reports of kernels that a purge
    /// removes.
    pub fn purge_waits_from(&self) -> Timestamp {
        self.backfilled_at.map_or(self.created_at, |at| at.max(self.created_at))
    }

    /// The time at which factors and ranks were last calculated; `None`: never.
    pub fn calculated_at(&self) -> Option<Timestamp> {
        self.calculation.as_ref().map(|calculation| calculation.at)
    }

    /// The weight in force: what an admin set, else the group's default.
    pub fn weight(&self, share: &Share) -> Weight {
        share.weight.unwrap_or(self.options.default_weight)
    }

    /// The share of a known entity that has no row in this group yet: no usage, no weight.
    pub fn default_share(&self, effective_weight: EffectiveWeight) -> Share {
        Share::new(None, DecayedHistory::default()).with_effective_weight(effective_weight)
    }

    /// True if agents are known and none of them has the slot. Such a slot is mostly a misspelt one, and its usage costs
    /// nothing.
    pub fn lacks_slot(&self, slot: SlotName) -> bool {
        !self.agent_slots.is_empty() && !self.agent_slots.contains(&slot)
    }

    /// A strong validator for answers made from this snapshot. Every write of the group changes the tag of
    /// `kernels_revision`.
    pub fn etag(&self) -> String {
        format!("\"{}-{}\"", self.revision.number(), self.kernels_revision)
    }

    /// A validator for the scheduler and its options. The part after the point is for other values in the same answer: the
    /// warnings and the revision of the configuration.
    pub(in crate::engine::group) fn options_etag(&self, warnings: &[impl serde::Serialize]) -> String {
        let options = options_tag(self.scheduler.name(), &self.scheduler_opts);
        let shown = digest_json(&serde_json::json!([warnings, self.config_revision.to_string()]));
        format!("\"{options}.{shown}\"")
    }
}

/// True if a validator of [`GroupProfile::options_etag`] is for this scheduler and these options, with any warnings.
pub fn is_etag_of(etag: &str, scheduler: &str, opts: &Map<String, Value>) -> bool {
    etag.trim_matches('"').split('.').next() == Some(&options_tag(scheduler, opts))
}

fn options_tag(scheduler: &str, opts: &Map<String, Value>) -> String {
    digest_json(&serde_json::json!([scheduler, opts]))
}

fn digest_json(value: &Value) -> String {
    let digest = Sha256::digest(value.to_string().as_bytes());
    URL_SAFE_NO_PAD.encode(&digest[..12])
}
