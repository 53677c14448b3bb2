//! The rules by which workloads and agents accept each other: labels, taints and tolerations, and affinity.
//!
//! All of them mean what they mean in Kubernetes. A workload states its rules once; most workloads have none, so that
//! [`PlacementRules`] are kept behind a pointer that is absent for those.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::fault::{Fault, escape_key};
use super::names::{MAX_LABEL, check_label, is_label_or_empty};

/// Texts by name.
pub type Labels = BTreeMap<String, String>;

/// The label that each agent has, with its id as the value.
pub const AGENT_ID_LABEL: &str = "agent_id";

/// The largest number of labels of one workload or agent.
pub const MAX_LABELS: usize = 64;
/// The largest number of taints of one agent, and of tolerations of one workload.
pub const MAX_TAINTS: usize = 64;
/// The largest number of terms in one list of an affinity.
pub const MAX_TERMS: usize = 32;
/// The largest number of values of one requirement.
pub const MAX_VALUES: usize = 256;
/// The largest size of all rules of one workload as JSON, in bytes.
pub const MAX_RULES_BYTES: usize = 16_384;

/// The effect of a taint on workloads that do not tolerate it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, ToSchema)]
pub enum TaintEffect {
    /// They do not start on the agent.
    NoSchedule,
    /// They do not start on the agent. A plan never evicts for it what runs there already.
    NoExecute,
    /// They start on other agents first.
    PreferNoSchedule,
}

impl TaintEffect {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::NoSchedule => "NoSchedule",
            Self::NoExecute => "NoExecute",
            Self::PreferNoSchedule => "PreferNoSchedule",
        }
    }

    /// True if the effect keeps workloads off the agent; otherwise it is only a preference.
    pub fn repels(self) -> bool {
        self != Self::PreferNoSchedule
    }
}

/// A mark of an agent that keeps workloads away which do not tolerate it.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(example = json!({"key": "gpu", "value": "a100", "effect": "NoSchedule"}))]
pub struct Taint {
    pub key: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub value: Option<String>,
    pub effect: TaintEffect,
}

/// The comparison of a toleration with a taint.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, ToSchema)]
pub enum TolerationOperator {
    /// The values are equal. A value that is absent equals an empty one.
    #[default]
    Equal,
    /// Any value.
    Exists,
}

/// A permission to start on agents that have a taint.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(example = json!({"key": "gpu", "operator": "Exists"}))]
pub struct Toleration {
    /// Absent, with `Exists`: every taint.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key: Option<String>,
    #[serde(default)]
    #[schema(inline)]
    pub operator: TolerationOperator,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub value: Option<String>,
    /// Absent: every effect.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub effect: Option<TaintEffect>,
}

impl Toleration {
    pub fn tolerates(&self, taint: &Taint) -> bool {
        let is_exists = self.operator == TolerationOperator::Exists;
        let has_key = self.key.as_ref().map_or(is_exists, |key| *key == taint.key);
        let [own, other] = [&self.value, &taint.value].map(|value| value.as_deref().unwrap_or_default());
        let has_value = is_exists || own == other;
        self.effect.is_none_or(|effect| effect == taint.effect) && has_key && has_value
    }
}

/// True if one of the tolerations tolerates the taint.
pub fn tolerate(tolerations: &[Toleration], taint: &Taint) -> bool {
    tolerations.iter().any(|toleration| toleration.tolerates(taint))
}

/// True if no taint keeps a workload with these tolerations away.
pub fn tolerate_all(tolerations: &[Toleration], taints: &[Taint]) -> bool {
    taints.iter().filter(|taint| taint.effect.repels()).all(|taint| tolerate(tolerations, taint))
}

/// The comparison of a label with the values of a requirement.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, ToSchema)]
pub enum LabelOperator {
    In,
    /// True also without the label.
    NotIn,
    Exists,
    DoesNotExist,
    /// The label is a larger integer than the value.
    Gt,
    /// The label is a smaller integer than the value.
    Lt,
}

/// A condition on the labels of an agent.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(example = json!({"key": "gpu.memory", "operator": "Gt", "values": ["40"]}))]
pub struct LabelRequirement {
    pub key: String,
    pub operator: LabelOperator,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub values: Vec<String>,
}

impl LabelRequirement {
    pub fn accepts(&self, labels: &Labels) -> bool {
        let label = labels.get(&self.key);
        let has_value = || label.is_some_and(|label| self.values.contains(label));
        let integers = || Some((label?.parse::<i64>().ok()?, self.values.first()?.parse::<i64>().ok()?));
        match self.operator {
            LabelOperator::In => has_value(),
            LabelOperator::NotIn => !has_value(),
            LabelOperator::Exists => label.is_some(),
            LabelOperator::DoesNotExist => label.is_none(),
            LabelOperator::Gt => integers().is_some_and(|(label, value)| label > value),
            LabelOperator::Lt => integers().is_some_and(|(label, value)| label < value),
        }
    }
}

/// Other workloads, and the label of agents whose value says what is near them.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(example = json!({"labels": {"app": "trainer"}, "topology_key": "rack"}))]
pub struct AffinityTerm {
    /// Workloads that have all of these labels.
    pub labels: Labels,
    /// Agents with the same value of this label are one domain.
    pub topology_key: String,
}

/// The agents that a workload needs, and the workloads that it has to be near to or away from.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(example = json!({"agents": [{"key": "gpu", "operator": "In", "values": ["a100", "h100"]}]}))]
pub struct Affinity {
    /// Its agents fulfil all of these.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub agents: Vec<LabelRequirement>,
    /// A member of such a workload runs in the same domain.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub with: Vec<AffinityTerm>,
    /// No member of such a workload runs in the same domain.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub against: Vec<AffinityTerm>,
}

impl Affinity {
    pub fn is_empty(&self) -> bool {
        self.agents.is_empty() && self.with.is_empty() && self.against.is_empty()
    }
}

/// The rules of one workload. An empty part was not stated.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct PlacementRules {
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub labels: Labels,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tolerations: Vec<Toleration>,
    #[serde(default, skip_serializing_if = "Affinity::is_empty")]
    pub affinity: Affinity,
}

impl PlacementRules {
    pub fn is_empty(&self) -> bool {
        self.labels.is_empty() && self.tolerations.is_empty() && self.affinity.is_empty()
    }

    /// The rules behind a pointer; `None` if there is no rule.
    pub fn boxed(self) -> Option<Box<Self>> {
        (!self.is_empty()).then(|| Box::new(self))
    }

    /// Takes the parts of `other` that these rules lack.
    pub fn complete(&mut self, other: Self) {
        if self.labels.is_empty() {
            self.labels = other.labels;
        }
        if self.tolerations.is_empty() {
            self.tolerations = other.tolerations;
        }
        if self.affinity.is_empty() {
            self.affinity = other.affinity;
        }
    }

    /// True if no taint keeps the workload away.
    pub fn tolerates(&self, taints: &[Taint]) -> bool {
        tolerate_all(&self.tolerations, taints)
    }

    /// The faults of the rules, with pointers below the workload that has them.
    pub fn faults(&self) -> Vec<Fault> {
        let mut faults = label_faults(&self.labels);
        faults.extend(toleration_faults(&self.tolerations));
        faults.extend(self.affinity.faults().into_iter().map(|fault| fault.below("/affinity")));
        let bytes = serde_json::to_string(self).map_or(0, |text| text.len());
        if faults.is_empty() && bytes > MAX_RULES_BYTES {
            let largest = [
                ("/labels", serde_json::to_string(&self.labels)),
                ("/tolerations", serde_json::to_string(&self.tolerations)),
                ("/affinity", serde_json::to_string(&self.affinity)),
            ];
            let length = |text: &serde_json::Result<String>| text.as_ref().map_or(0, String::len);
            let pointer = largest.iter().max_by_key(|(_, text)| length(text)).map_or("", |(pointer, _)| pointer);
            let detail = format!(
                "labels, tolerations and affinity together have {bytes} bytes as JSON; at most {MAX_RULES_BYTES} are stored"
            );
            faults.push(Fault::new(pointer, "too_long", detail));
        }
        faults
    }
}

impl Affinity {
    /// The faults of the affinity, with pointers below it.
    pub fn faults(&self) -> Vec<Fault> {
        let mut faults = Vec::new();
        faults.extend(too_many("/agents", self.agents.len(), MAX_TERMS));
        for (at, requirement) in self.agents.iter().enumerate().take(MAX_TERMS) {
            faults.extend(requirement.faults().into_iter().map(|fault| fault.below(&format!("/agents/{at}"))));
        }
        for (list, terms) in [("/with", &self.with), ("/against", &self.against)] {
            faults.extend(too_many(list, terms.len(), MAX_TERMS));
            for (at, term) in terms.iter().enumerate().take(MAX_TERMS) {
                let place = format!("{list}/{at}");
                faults.extend(label_faults(&term.labels).into_iter().map(|fault| fault.below(&place)));
                faults.extend(key_fault(format!("{place}/topology_key"), &term.topology_key));
            }
        }
        faults
    }
}

impl LabelRequirement {
    /// The faults of the requirement, with pointers below it.
    fn faults(&self) -> Vec<Fault> {
        let mut faults: Vec<Fault> = key_fault("/key".to_owned(), &self.key).into_iter().collect();
        faults.extend(too_many("/values", self.values.len(), MAX_VALUES));
        let values = self.values.iter().enumerate().take(MAX_VALUES);
        faults.extend(values.filter_map(|(at, value)| value_fault(format!("/values/{at}"), value)));
        let compares = matches!(self.operator, LabelOperator::Gt | LabelOperator::Lt);
        if compares && !matches!(self.values.as_slice(), [value] if value.parse::<i64>().is_ok()) {
            faults.push(Fault::about("/values", "invalid_value", "must be one integer for `Gt` and `Lt`"));
        }
        faults
    }
}

/// The faults of labels, with pointers below the workload or agent that has them.
pub fn label_faults(labels: &Labels) -> Vec<Fault> {
    let mut faults: Vec<Fault> = too_many("/labels", labels.len(), MAX_LABELS).into_iter().collect();
    for (key, value) in labels.iter().take(MAX_LABELS) {
        let place = format!("/labels/{}", escape_key(key));
        match key_fault(place.clone(), key) {
            Some(fault) => faults.push(fault),
            None => faults.extend(value_fault(place, value)),
        }
    }
    faults
}

/// The faults of tolerations, with pointers below the workload that has them.
pub fn toleration_faults(tolerations: &[Toleration]) -> Vec<Fault> {
    let mut faults: Vec<Fault> = too_many("/tolerations", tolerations.len(), MAX_TAINTS).into_iter().collect();
    for (at, toleration) in tolerations.iter().enumerate().take(MAX_TAINTS) {
        let place = format!("/tolerations/{at}");
        faults.extend(toleration.key.as_deref().and_then(|key| key_fault(format!("{place}/key"), key)));
        faults.extend(toleration.value.as_deref().and_then(|value| value_fault(format!("{place}/value"), value)));
    }
    faults
}

/// The faults of taints, with pointers below the agent that has them.
pub fn taint_faults(taints: &[Taint]) -> Vec<Fault> {
    let mut faults: Vec<Fault> = too_many("/taints", taints.len(), MAX_TAINTS).into_iter().collect();
    for (at, taint) in taints.iter().enumerate().take(MAX_TAINTS) {
        faults.extend(key_fault(format!("/taints/{at}/key"), &taint.key));
        let value = taint.value.as_deref();
        faults.extend(value.and_then(|value| value_fault(format!("/taints/{at}/value"), value)));
    }
    faults
}

fn key_fault(pointer: String, key: &str) -> Option<Fault> {
    check_label(key).err().map(|error| Fault::new(pointer, "invalid_name", format!("the name of a label {error}")))
}

fn value_fault(pointer: String, value: &str) -> Option<Fault> {
    let detail = || {
        format!(
            "the text of a label has at most {MAX_LABEL} characters, all of them visible, and no space at either end"
        )
    };
    (!is_label_or_empty(value)).then(|| Fault::new(pointer, "invalid_value", detail()))
}

fn too_many(pointer: &str, count: usize, most: usize) -> Option<Fault> {
    (count > most)
        .then(|| Fault::about(pointer, "too_many", format!("has {count} elements; at most {most} are allowed")))
}
