//! The nodes of a group. A change of them changes the group's capacity at once.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::json;

use super::{Caller, Error, Fault, RequestFaults, Result, Service};
use crate::api::input_warning::{InputWarning, MAX_WARNINGS};
use crate::domain::decimal::Amount;
use crate::domain::names::check_name;
use crate::domain::placement_rules::{Labels, Taint, label_faults, taint_faults};
use crate::domain::slots::{SlotAmounts, SlotName};
use crate::domain::time::Timestamp;
use crate::engine::audit::AuditedChange;
use crate::engine::group::agent_slots::looks_like_range;
use crate::engine::group::transaction::GroupTransaction;
use crate::engine::work::run_to_completion;
use crate::store;

pub use crate::store::agents::StoredAgent;

/// The slots that an agent offers, and flags that decide if they count.
#[derive(Clone, Debug)]
pub struct AgentSpec {
    pub available_slots: SlotAmounts,
    pub alive: bool,
    pub schedulable: bool,
    pub labels: Labels,
    pub taints: Vec<Taint>,
}

impl AgentSpec {
    /// The faults of labels and taints, with pointers below the agent.
    fn faults(&self) -> Vec<Fault> {
        [label_faults(&self.labels), taint_faults(&self.taints)].concat()
    }
}

/// The agents of one request by id. Faults point to `/agents/N/agent_id`.
pub fn collect_specs(agents: impl IntoIterator<Item = (String, AgentSpec)>) -> Result<BTreeMap<String, AgentSpec>> {
    let (mut specs, mut faults) = (BTreeMap::new(), RequestFaults::default());
    for (at, (id, spec)) in agents.into_iter().enumerate() {
        for fault in spec.faults() {
            faults.push(fault.below(&format!("/agents/{at}")));
        }
        let pointer = format!("/agents/{at}/agent_id");
        if let Err(error) = check_name(&id) {
            faults.push(Fault::about(pointer, "invalid_name", error));
        } else if specs.insert(id, spec).is_some() {
            faults.push(Fault::about(pointer, "duplicate_agent", "is given twice"));
        }
    }
    faults.or(specs)
}

impl Service {
    /// All agents of a group by id.
    #[tracing::instrument(
        name = "service.agents.agents",
        level = "debug",
        skip_all,
        fields(group),
        err(level = "debug")
    )]
    pub async fn agents(&self, caller: &Caller, group: &str) -> Result<Vec<StoredAgent>> {
        self.group_for_readers(caller, group)?;
        Ok(store::agents::list(&self.reads_for(caller.client()), group).await?)
    }

    /// Creates or replaces one agent. Returns it, and true if it is new.
    #[tracing::instrument(
        name = "service.agents.put_agent",
        level = "debug",
        skip_all,
        fields(group),
        err(level = "debug")
    )]
    pub async fn put_agent(
        self: &Arc<Self>,
        caller: Caller,
        group: String,
        agent_id: String,
        spec: AgentSpec,
        reason: Option<String>,
    ) -> Result<(StoredAgent, bool)> {
        caller.require_connector()?;
        check_name(&agent_id).map_err(|e| Error::invalid_name("/agent_id", e))?;
        Error::refuse(spec.faults())?;
        let change = async move |session: &mut GroupTransaction| {
            let agent = agent(agent_id, spec, session.now);
            let old = session.state().agents.iter().find(|a| a.agent_id == agent.agent_id).cloned();
            let mut agents = session.state().agents.to_vec();
            agents.retain(|a| a.agent_id != agent.agent_id);
            agents.push(agent.clone());
            store::agents::upsert(session.write(), session.group(), std::slice::from_ref(&agent)).await?;
            let (before, after) = (old.as_ref().map(describe), Some(describe(&agent)));
            if before != after {
                let entry =
                    AuditedChange { action: "agent.put", target: agent.agent_id.clone(), before, after, reason };
                session.audit(entry).await?;
            }
            change_agents(session, agents).await?;
            Ok((agent, old.is_none()))
        };
        run_to_completion(Arc::clone(self).change(caller, group, change)).await
    }

    /// Creates or replaces many agents in one transaction.
    #[tracing::instrument(
        name = "service.agents.put_agents",
        level = "debug",
        skip_all,
        fields(group),
        err(level = "debug")
    )]
    pub async fn put_agents(
        self: &Arc<Self>,
        caller: Caller,
        group: String,
        specs: BTreeMap<String, AgentSpec>,
        reason: Option<String>,
    ) -> Result<()> {
        caller.require_connector()?;
        for agent_id in specs.keys() {
            check_name(agent_id).map_err(|e| Error::invalid_name("/agent_id", e))?;
        }
        let change = async move |session: &mut GroupTransaction| {
            let new: Vec<StoredAgent> = specs.into_iter().map(|(id, spec)| agent(id, spec, session.now)).collect();
            let mut by_id: BTreeMap<_, _> =
                session.state().agents.iter().map(|a| (a.agent_id.clone(), a.clone())).collect();
            let is_other = |agent: &StoredAgent| by_id.get(&agent.agent_id).map(describe) != Some(describe(agent));
            let changes = new.iter().any(is_other);
            by_id.extend(new.iter().map(|a| (a.agent_id.clone(), a.clone())));
            store::agents::upsert(session.write(), session.group(), &new).await?;
            if changes {
                let (target, after) = (session.group().to_owned(), Some(json!({"agents": new.len()})));
                session.audit(AuditedChange { action: "agents.put", target, before: None, after, reason }).await?;
            }
            change_agents(session, by_id.into_values().collect()).await
        };
        run_to_completion(Arc::clone(self).change(caller, group, change)).await
    }

    #[tracing::instrument(
        name = "service.agents.delete_agent",
        level = "debug",
        skip_all,
        fields(group),
        err(level = "debug")
    )]
    pub async fn delete_agent(
        self: &Arc<Self>,
        caller: Caller,
        group: String,
        agent_id: String,
        reason: Option<String>,
    ) -> Result<()> {
        caller.require_admin()?;
        let change = async move |session: &mut GroupTransaction| {
            let Some(old) = session.state().agents.iter().find(|a| a.agent_id == agent_id).cloned() else {
                let detail = format!("there is no agent {agent_id:?} in {:?}", session.group());
                return Err(Error::NotFound { code: "unknown_agent", detail });
            };
            let mut agents = session.state().agents.to_vec();
            agents.retain(|a| a.agent_id != agent_id);
            store::agents::delete(session.write(), session.group(), &agent_id).await?;
            let (action, before) = ("agent.delete", Some(describe(&old)));
            session.audit(AuditedChange { action, target: agent_id, before, after: None, reason }).await?;
            change_agents(session, agents).await
        };
        run_to_completion(Arc::clone(self).change(caller, group, change)).await
    }
}

/// Probable mistakes in the names of agents, each with a pointer to its place in the request.
pub fn name_warnings<'a>(names: impl Iterator<Item = (String, &'a str)>) -> Vec<InputWarning> {
    let mut ranges = names.filter(|(_, name)| looks_like_range(name));
    let warning = |(pointer, name): (String, &str)| {
        let detail =
            format!("the agent {name:?} looks like a range of agents, and is taken as one; name each agent by itself");
        InputWarning::at(pointer, "agent_range", detail)
    };
    let listed: Vec<InputWarning> = ranges.by_ref().take(MAX_WARNINGS).map(warning).collect();
    listed.into_iter().chain(InputWarning::unlisted(ranges.count() as u64)).collect()
}

fn agent(agent_id: String, spec: AgentSpec, updated_at: Timestamp) -> StoredAgent {
    let AgentSpec { available_slots, alive, schedulable, labels, taints } = spec;
    StoredAgent { agent_id, available_slots, alive, schedulable, labels, taints, updated_at }
}

/// Refuses agents that together offer more of a slot than an amount can hold, because order and factors would be wrong.
fn check_sum(agents: &[StoredAgent]) -> Result<()> {
    let mut sums: BTreeMap<SlotName, Amount> = BTreeMap::new();
    for (slot, amount) in agents.iter().filter(|agent| agent.offers()).flat_map(|agent| agent.available_slots.iter()) {
        let sum = sums.entry(slot).or_default();
        *sum = sum.checked_add(amount).ok_or_else(|| {
            let said = format!("brings the capacity of the group above {} {slot}", Amount::MAX);
            Error::about("/available_slots", "capacity_too_large", said)
        })?;
    }
    Ok(())
}

fn describe(agent: &StoredAgent) -> serde_json::Value {
    let StoredAgent { available_slots, alive, schedulable, labels, taints, .. } = agent;
    json!({"available_slots": available_slots, "alive": alive, "schedulable": schedulable, "labels": labels, "taints": taints})
}

/// Closes the time of the old capacity, then sets the new one. Pointers in faults are relative to one agent.
async fn change_agents(session: &mut GroupTransaction, mut agents: Vec<StoredAgent>) -> Result<()> {
    check_sum(&agents)?;
    session.observe_capacity().await?;
    agents.sort_by(|a, b| a.agent_id.cmp(&b.agent_id));
    session.set_agents(agents);
    session.observe_capacity().await?;
    session.recompute_histories().await
}
