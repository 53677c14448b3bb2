//! The machines of `condor_status` as agents.

use std::collections::BTreeMap;

use api::agents::AgentReport;
use domain::decimal::Amount;
use domain::time::MICROS_PER_MINUTE;

use super::class_ads::ClassAd;
use super::programs::STATUS;
use super::resources::ResourceMapping;
use crate::fault::RoundFault;
use crate::slot_amounts::{add_amounts, amount_texts};

/// The attributes that are read of each slot, besides the amounts of its resources.
pub const ATTRIBUTES: [&str; 5] = ["Name", "Machine", "SlotType", "State", "Offline"];

/// The time after which a machine that is missing counts as dead. A collector that was started again knows none for some minutes, and
/// an ad of a machine lives for 15 minutes.
pub const MAX_MISSING_MICROS: i64 = 15 * MICROS_PER_MINUTE;
/// States of slots in which no new job may start: the owner's own work, or a drain.
const CLOSED_STATES: [&str; 2] = ["Owner", "Drained"];

/// Reads the machines. A dynamic slot is a part of a partitionable one, which has all of its amounts.
pub fn read_machines(ads: &[ClassAd], resources: &ResourceMapping) -> Result<Vec<AgentReport>, RoundFault> {
    #[derive(Default)]
    struct SlotSums {
        amounts: BTreeMap<String, Amount>,
        is_alive: bool,
        is_open: bool,
    }
    let mut machines: BTreeMap<&str, SlotSums> = BTreeMap::new();
    for ad in ads.iter().filter(|ad| ad.text("SlotType") != Some("Dynamic")) {
        let sums = machines.entry(ad.needed_text(STATUS, "Machine")?).or_default();
        add_amounts(&mut sums.amounts, &resources.offered(ad));
        sums.is_alive |= ad.flag("Offline") != Some(true);
        sums.is_open |= !CLOSED_STATES.contains(&ad.needed_text(STATUS, "State")?);
    }
    let agent = |(name, sums): (&str, SlotSums)| AgentReport {
        agent_id: name.to_owned(),
        available_slots: amount_texts(&sums.amounts),
        alive: sums.is_alive,
        schedulable: sums.is_open,
    };
    Ok(machines.into_iter().map(agent).collect())
}
