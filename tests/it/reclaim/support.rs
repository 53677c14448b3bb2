//! Cases for the stateless interface. Fair shares are divided from the queues unless a case gives them.

use std::collections::BTreeMap;

use fairshared::domain::decimal::Amount;
use fairshared::domain::division::{self, DivisionTrace, QueueSlotGrid, QueueTree};
use fairshared::domain::fault::Fault;
use fairshared::domain::queues::QueueSpec;
use fairshared::domain::reclaim::{
    PendingGang, PlanFigures, ReclaimAgent, ReclaimInput, ReclaimOptions, ReclaimPlan, ReclaimRule, ReclaimVerdict,
    RunningWorkload, observed_tree, plan,
};
use fairshared::domain::slots::{SlotAmounts, SlotName};
use fairshared::domain::time::Timestamp;
use serde::Deserialize;
use serde_json::{Value, json};

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Case {
    pub capacity: SlotAmounts,
    #[serde(default)]
    pub algorithm: Option<String>,
    #[serde(default)]
    pub options: ReclaimOptions,
    pub queues: Vec<QueueSpec>,
    #[serde(default)]
    pub agents: Option<Vec<ReclaimAgent>>,
    pub running: Vec<RunningWorkload>,
    pub pending: PendingGang,
    /// Fair shares by queue, in place of a division.
    #[serde(default)]
    pub shares: Option<BTreeMap<String, SlotAmounts>>,
}

/// The moment of every plan.
pub const NOW: &str = "2026-01-10T12:00:00Z";

impl Case {
    pub fn new(case: &Value) -> Self {
        serde_json::from_value(case.clone()).unwrap()
    }

    pub fn tree(&self) -> QueueTree {
        observed_tree(&self.queues, &self.capacity, &self.running, Some(&self.pending)).unwrap()
    }

    pub fn fair_share(&self, tree: &QueueTree) -> QueueSlotGrid<Amount> {
        let Some(shares) = &self.shares else {
            let name = self.algorithm.as_deref().unwrap_or("quota_over_quota");
            let algorithm = division::algorithm(name).unwrap();
            return algorithm.divide(tree, &self.options.division, &mut DivisionTrace::off()).fair_share;
        };
        let mut grid = QueueSlotGrid::new(tree.len(), tree.slots.len(), Amount::ZERO);
        for (name, slots) in shares {
            for (slot, amount) in slots.iter() {
                grid[(tree.find(name).unwrap(), tree.column(slot).unwrap())] = amount;
            }
        }
        grid
    }

    pub fn try_plan(&self) -> Result<ReclaimPlan, Vec<Fault>> {
        let tree = observed_tree(&self.queues, &self.capacity, &self.running, Some(&self.pending))?;
        let fair_share = self.fair_share(&tree);
        plan(&ReclaimInput {
            tree: &tree,
            fair_share: &fair_share,
            running: &self.running,
            pending: &self.pending,
            agents: self.agents.as_deref(),
            options: &self.options.plan,
            now: NOW.parse::<Timestamp>().unwrap(),
        })
    }

    pub fn plan(&self) -> ReclaimPlan {
        self.try_plan().unwrap()
    }
}

pub fn plan_of(case: &Value) -> ReclaimPlan {
    Case::new(case).plan()
}

/// `count` workloads of one member with one gpu, named `{queue}-0` and on, the last one the newest.
pub fn singles(queue: &str, count: usize) -> Vec<Value> {
    (0..count).map(|n| workload(&format!("{queue}-{n}"), queue, n, &[json!({"gpu": 1})], json!({}))).collect()
}

/// A workload with a member for each of `slots`, created `minute` minutes after midnight; values in `more` override the
/// others.
pub fn workload(id: &str, queue: &str, minute: usize, slots: &[Value], more: Value) -> Value {
    let members: Vec<Value> =
        slots.iter().enumerate().map(|(n, s)| json!({"kernel_id": format!("{id}/{n}"), "slots": s})).collect();
    let mut value = json!({
        "workload_id": id, "queue": queue, "priority": 0, "preemptible": true, "members": members,
        "created_at": format!("2026-01-10T{:02}:{:02}:00Z", minute / 60, minute % 60),
    });
    merge(&mut value, more);
    value
}

pub fn pending(queue: &str, slots: &[Value], more: Value) -> Value {
    let members: Vec<Value> = slots.iter().map(|s| json!({"slots": s})).collect();
    let mut value = json!({
        "workload_id": "new", "queue": queue, "priority": 0, "preemptible": true, "members": members,
    });
    merge(&mut value, more);
    value
}

pub fn merge(value: &mut Value, more: Value) {
    let Value::Object(more) = more else { return };
    for (key, entry) in more {
        value[key] = entry;
    }
}

/// (workload, rule) of every victim.
pub fn victims(plan: &ReclaimPlan) -> Vec<(&str, &str)> {
    plan.victims.iter().map(|v| (&*v.workload_id, v.rule.as_str())).collect()
}

pub fn kernels(plan: &ReclaimPlan) -> Vec<&str> {
    plan.victims.iter().flat_map(|v| v.kernel_ids.iter().map(|k| &**k)).collect()
}

/// The rule by which the pending workload (`None`) or a candidate was refused.
pub fn rule_of(plan: &ReclaimPlan, workload: Option<&str>) -> Option<ReclaimRule> {
    plan.refusals.iter().find(|r| r.workload_id.as_deref() == workload).map(|r| r.rule)
}

pub fn assert_refused(plan: &ReclaimPlan, workload: Option<&str>, rule: ReclaimRule) {
    assert_eq!(plan.verdict, ReclaimVerdict::Refused, "{plan:#?}");
    assert_eq!(rule_of(plan, workload), Some(rule), "{:#?}", plan.refusals);
}

pub fn figures<'a>(list: &'a [PlanFigures], queue: &str) -> &'a PlanFigures {
    list.iter().find(|f| &*f.queue == queue).unwrap()
}

pub fn gpu(amounts: &SlotAmounts) -> String {
    amounts.get(SlotName::new("gpu").unwrap()).unwrap().to_string()
}
