//! Cases for the stateless interface. Fair shares are divided from the queues unless a case gives them.

use std::collections::BTreeMap;

use fairshared::domain::decimal::Amount;
use fairshared::domain::division::{self, Grid, Trace, Tree};
use fairshared::domain::fault::Fault;
use fairshared::domain::queues::QueueSpec;
use fairshared::domain::reclaim::{
    Agent, Figures, Input, Pending, Plan, Rule, Settings, Verdict, Workload, observed_tree, plan,
};
use fairshared::domain::slots::{Amounts, SlotName};
use fairshared::domain::time::Timestamp;
use serde::Deserialize;
use serde_json::{Value, json};

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Case {
    pub capacity: Amounts,
    #[serde(default)]
    pub algorithm: Option<String>,
    #[serde(default)]
    pub options: Settings,
    pub queues: Vec<QueueSpec>,
    #[serde(default)]
    pub agents: Option<Vec<Agent>>,
    pub running: Vec<Workload>,
    pub pending: Pending,
    /// Fair shares by queue, in place of a division.
    #[serde(default)]
    pub shares: Option<BTreeMap<String, Amounts>>,
}

/// The moment of every plan.
pub const NOW: &str = "2026-01-10T12:00:00Z";

impl Case {
    pub fn new(case: &Value) -> Self {
        serde_json::from_value(case.clone()).unwrap()
    }

    pub fn tree(&self) -> Tree {
        observed_tree(&self.queues, &self.capacity, &self.running, Some(&self.pending)).unwrap()
    }

    pub fn fair_share(&self, tree: &Tree) -> Grid<Amount> {
        let Some(shares) = &self.shares else {
            let name = self.algorithm.as_deref().unwrap_or("quota_over_quota");
            let algorithm = division::algorithm(name).unwrap();
            return algorithm.divide(tree, &self.options.division, &mut Trace::off()).fair_share;
        };
        let mut grid = Grid::new(tree.len(), tree.slots.len(), Amount::ZERO);
        for (name, slots) in shares {
            for (slot, amount) in slots.iter() {
                grid[(tree.find(name).unwrap(), tree.column(slot).unwrap())] = amount;
            }
        }
        grid
    }

    pub fn try_plan(&self) -> Result<Plan, Vec<Fault>> {
        let tree = observed_tree(&self.queues, &self.capacity, &self.running, Some(&self.pending))?;
        let fair_share = self.fair_share(&tree);
        plan(&Input {
            tree: &tree,
            fair_share: &fair_share,
            running: &self.running,
            pending: &self.pending,
            agents: self.agents.as_deref(),
            options: &self.options.plan,
            now: NOW.parse::<Timestamp>().unwrap(),
        })
    }

    pub fn plan(&self) -> Plan {
        self.try_plan().unwrap()
    }
}

pub fn plan_of(case: &Value) -> Plan {
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
pub fn victims(plan: &Plan) -> Vec<(&str, &str)> {
    plan.victims.iter().map(|v| (&*v.workload_id, v.rule.as_str())).collect()
}

pub fn kernels(plan: &Plan) -> Vec<&str> {
    plan.victims.iter().flat_map(|v| v.kernel_ids.iter().map(|k| &**k)).collect()
}

/// The rule by which the pending workload (`None`) or a candidate was refused.
pub fn rule_of(plan: &Plan, workload: Option<&str>) -> Option<Rule> {
    plan.refusals.iter().find(|r| r.workload_id.as_deref() == workload).map(|r| r.rule)
}

pub fn assert_refused(plan: &Plan, workload: Option<&str>, rule: Rule) {
    assert_eq!(plan.verdict, Verdict::Refused, "{plan:#?}");
    assert_eq!(rule_of(plan, workload), Some(rule), "{:#?}", plan.refusals);
}

pub fn figures<'a>(list: &'a [Figures], queue: &str) -> &'a Figures {
    list.iter().find(|f| &*f.queue == queue).unwrap()
}

pub fn gpu(amounts: &Amounts) -> String {
    amounts.get(SlotName::new("gpu").unwrap()).unwrap().to_string()
}
