//! The machines of `condor_status` as agents.
//!
//! A machine that has died disappears from the collector. The server would take it for alive without end, so that the connector
//! remembers the machines, on disk, and reports one that has been missing for longer than an ad lives as not alive.

use std::collections::BTreeMap;
use std::io;
use std::path::Path;

use serde::{Deserialize, Serialize};

use super::class_ads::ClassAd;
use super::programs::STATUS;
use super::resources::{ResourceMapping, add_amounts, amount_texts};
use crate::connectors::fault::RoundFault;
use crate::connectors::server::AgentReport;
use crate::connectors::state_file::replace_file;
use crate::domain::decimal::Amount;
use crate::domain::time::{MICROS_PER_DAY, MICROS_PER_MINUTE, Timestamp};

/// The attributes that are read of each slot, besides the amounts of its resources.
pub const ATTRIBUTES: [&str; 5] = ["Name", "Machine", "SlotType", "State", "Offline"];

const MEMORY_FILE: &str = "machines.json";
/// The time after which a machine that is missing counts as dead. A collector that was started again knows none for some minutes, and
/// an ad of a machine lives for 15 minutes.
const MAX_MISSING_MICROS: i64 = 15 * MICROS_PER_MINUTE;
/// States of slots in which no new job may start: the owner's own work, or a drain.
const CLOSED_STATES: [&str; 2] = ["Owner", "Drained"];

/// A machine as it was seen last.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct KnownMachine {
    slots: BTreeMap<String, String>,
    seen_at: Timestamp,
}

/// The machines that were seen lately.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct MachineMemory(BTreeMap<String, KnownMachine>);

impl MachineMemory {
    /// Reads the memory; an empty one if there is no file.
    pub fn load(folder: &Path) -> io::Result<Self> {
        match std::fs::read(folder.join(MEMORY_FILE)) {
            Ok(bytes) => serde_json::from_slice(&bytes).map_err(io::Error::from),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Self::default()),
            Err(error) => Err(error),
        }
    }

    pub fn save(&self, folder: &Path) -> io::Result<()> {
        replace_file(&folder.join(MEMORY_FILE), &serde_json::to_vec(self)?)
    }

    /// Notes the machines of a reading. Returns them as agents, and with them the machines that are missing for long.
    pub fn note(&mut self, reading: Vec<AgentReport>, now: Timestamp) -> Vec<AgentReport> {
        let mut agents = reading;
        for agent in agents.iter().filter(|agent| agent.alive) {
            let known = KnownMachine { slots: agent.available_slots.clone(), seen_at: now };
            self.0.insert(agent.agent_id.clone(), known);
        }
        let is_listed = |name: &str| agents.iter().any(|agent| agent.agent_id == name);
        let is_gone = |known: &KnownMachine| now.micros() - known.seen_at.micros() > MAX_MISSING_MICROS;
        let gone = self.0.iter().filter(|(name, known)| is_gone(known) && !is_listed(name));
        let gone: Vec<AgentReport> = gone
            .map(|(name, known)| AgentReport {
                agent_id: name.clone(),
                available_slots: known.slots.clone(),
                alive: false,
                schedulable: false,
            })
            .collect();
        // A machine that was reported as dead for a day is forgotten, so that the memory of a pool in a cloud does not grow.
        self.0.retain(|_, known| now.micros() - known.seen_at.micros() <= MAX_MISSING_MICROS + MICROS_PER_DAY);
        agents.extend(gone);
        agents
    }
}

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
