//! The scheduler option `division`: how a group divides its capacity and plans reclaims.

use serde_json::{Map, Value};
use utoipa::ToSchema;

use crate::division::{DivisionAlgorithm, DivisionOptions, algorithm, algorithm_choices};
use crate::fault::{Fault, escape_key};
use crate::flat::FlatPart;
use crate::option_facts::{OptionFacts, OptionValues};
use crate::reading::{DecodeError, read_from};
use crate::reclaim::{PlanOptions, ReclaimOptions};

/// The algorithm that divides a group, and its options in force, with those of reclaims.
#[derive(Clone, Debug, PartialEq, Eq, ToSchema)]
pub struct DivisionChoice {
    #[schema(schema_with = crate::schemas::algorithm)]
    algorithm: &'static str,
    #[schema(value_type = ReclaimOptions)]
    pub options: DivisionOptions,
    #[schema(ignore)]
    pub plan: PlanOptions,
}

impl Default for DivisionChoice {
    fn default() -> Self {
        Self::new("quota_over_quota", ReclaimOptions::default())
    }
}

impl DivisionChoice {
    fn new(algorithm: &'static str, settings: ReclaimOptions) -> Self {
        Self { algorithm, options: settings.division, plan: settings.plan }
    }

    pub fn algorithm(&self) -> &'static dyn DivisionAlgorithm {
        algorithm(self.algorithm).unwrap_or_else(|| unreachable!("only names of algorithms are kept"))
    }

    /// Reads the option from its stored form. Absent keys have their defaults. The pointers of faults are relative to
    /// the option.
    pub fn parse(value: &Value) -> Result<Self, Vec<Fault>> {
        let Value::Object(keys) = value else {
            return Err(vec![Fault::new("", "invalid_value", "`division` is not an object")]);
        };
        let mut name = Self::default().algorithm.to_owned();
        let mut settings = ReclaimOptions::default();
        for (key, value) in keys {
            match (key.as_str(), value) {
                ("algorithm", Value::String(algorithm)) => name.clone_from(algorithm),
                ("algorithm", other) => name = other.to_string(),
                ("options", Value::Object(options)) => settings = read_settings(options)?,
                ("options", _) => {
                    return Err(vec![Fault::new("/options", "invalid_value", "`options` is not an object")]);
                }
                _ => {
                    let detail = format!("`{key}` is not known here; known are algorithm, options");
                    return Err(vec![Fault::new(format!("/{}", escape_key(key)), "unknown_option", detail)]);
                }
            }
        }
        Ok(Self::new(settings.check(&name)?.name(), settings))
    }

    /// The facts about the two keys of the option.
    pub fn facts() -> Vec<OptionFacts> {
        let algorithm = OptionFacts::new(
            "algorithm",
            "Algorithm",
            OptionValues::Choice(algorithm_choices),
            "How the capacity is divided over queues.",
        );
        let options = OptionFacts::new(
            "options",
            "Options",
            OptionValues::Object(ReclaimOptions::facts),
            "The options of the algorithm, of the order by score, and of plans of reclaims.",
        );
        vec![algorithm, options]
    }

    /// Every key that the option can have, at every depth.
    pub fn keys() -> Value {
        serde_json::json!({"algorithm": null, "options": ReclaimOptions::default()})
    }

    /// The options of the algorithm and of plans, as a simulation takes them.
    pub fn settings(&self) -> ReclaimOptions {
        ReclaimOptions { division: self.options.clone(), plan: self.plan.clone() }
    }

    /// The option in force, defaults included.
    pub fn to_json(&self) -> Value {
        let options = match serde_json::to_value(self.settings()) {
            Ok(Value::Object(keys)) => keys.into_iter().filter(|(_, value)| !value.is_null()).collect(),
            _ => Map::new(),
        };
        serde_json::json!({"algorithm": self.algorithm, "options": options})
    }
}

fn read_settings(options: &Map<String, Value>) -> Result<ReclaimOptions, Vec<Fault>> {
    read_from(Value::Object(options.clone()), "invalid_value")
        .map_err(|misread: DecodeError| vec![misread.below("options").option_fault()])
}
