//! The machines that a connector has reported as agents.
//!
//! A machine that has died is not listed any more. The server would take it for alive without end, so that the connector remembers
//! the machines, on disk, and reports one that has been missing for too long as not alive.

use std::collections::BTreeMap;
use std::io;
use std::path::Path;

use api::agents::AgentReport;
use domain::time::{MICROS_PER_DAY, Timestamp};
use serde::{Deserialize, Serialize};

use super::state_file::{read_file, replace_file};

const MEMORY_FILE: &str = "machines.json";

/// A machine as it was seen last.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct KnownMachine {
    slots: BTreeMap<String, String>,
    seen_at: Timestamp,
}

/// The machines that were seen lately.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct AgentMemory(BTreeMap<String, KnownMachine>);

impl AgentMemory {
    /// Reads the memory; an empty one if there is no file.
    pub fn load(folder: &Path) -> io::Result<Self> {
        read_file(&folder.join(MEMORY_FILE))
    }

    pub fn save(&self, folder: &Path) -> io::Result<()> {
        replace_file(&folder.join(MEMORY_FILE), &serde_json::to_vec(self)?)
    }

    /// [`AgentMemory::note`] for the memory in a folder.
    pub fn note_in(
        folder: &Path,
        reading: Vec<AgentReport>,
        max_missing_micros: i64,
        now: Timestamp,
    ) -> io::Result<Vec<AgentReport>> {
        let mut memory = Self::load(folder)?;
        let agents = memory.note(reading, max_missing_micros, now);
        memory.save(folder)?;
        Ok(agents)
    }

    /// Notes the machines of a reading. Returns them as agents, and with them those that have been missing for more than
    /// `max_missing_micros`.
    pub fn note(&mut self, reading: Vec<AgentReport>, max_missing_micros: i64, now: Timestamp) -> Vec<AgentReport> {
        let mut agents = reading;
        for agent in agents.iter().filter(|agent| agent.alive) {
            let known = KnownMachine { slots: agent.available_slots.clone(), seen_at: now };
            self.0.insert(agent.agent_id.clone(), known);
        }
        let is_listed = |name: &str| agents.iter().any(|agent| agent.agent_id == name);
        let is_gone = |known: &KnownMachine| now.micros() - known.seen_at.micros() > max_missing_micros;
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
        self.0.retain(|_, known| now.micros() - known.seen_at.micros() <= max_missing_micros + MICROS_PER_DAY);
        agents.extend(gone);
        agents
    }
}
