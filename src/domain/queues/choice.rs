//! How a group divides its capacity and plans reclaims: the scheduler option `division`.

use serde_json::{Map, Value};

use crate::domain::decimal::Amount;
use crate::domain::division::{self, Algorithm, algorithm, algorithm_names};
use crate::domain::reclaim::PlanOptions;
use crate::domain::reclaim::plugins::{plugin, plugin_names};

/// The longest search of a plan that a group may allow, in milliseconds.
pub const MAX_SEARCH_BUDGET_MS: u64 = 10_000;

/// What a group's division is made with.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DivisionChoice {
    algorithm: AlgorithmName,
    pub options: division::Options,
    pub plan: PlanOptions,
}

/// The name of a registered algorithm.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct AlgorithmName(&'static str);

impl Default for AlgorithmName {
    fn default() -> Self {
        Self("quota_over_quota")
    }
}

/// A refused part of the option, with its place inside it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChoiceFault {
    /// Keys down to the fault, like `options`, `rounding`.
    pub path: Vec<String>,
    pub code: &'static str,
    pub detail: String,
}

impl ChoiceFault {
    fn new(path: &[&str], code: &'static str, detail: impl Into<String>) -> Self {
        Self { path: path.iter().map(|p| (*p).to_owned()).collect(), code, detail: detail.into() }
    }
}

impl DivisionChoice {
    pub fn algorithm(&self) -> &'static dyn Algorithm {
        algorithm(self.algorithm.0).unwrap_or_else(|| unreachable!("only names of algorithms are kept"))
    }

    /// Reads the option as it is stored; absent keys have their defaults.
    pub fn parse(value: &Value) -> Result<Self, ChoiceFault> {
        let object = |path: &[&str], value: &Value| {
            let fault = || ChoiceFault::new(path, "invalid_value", "is a JSON object");
            value.as_object().cloned().ok_or_else(fault)
        };
        let mut choice = Self::default();
        for (key, value) in object(&[], value)? {
            match key.as_str() {
                "algorithm" => choice.algorithm = algorithm_of(&value)?,
                "options" => choice.read_options(object(&["options"], &value)?)?,
                _ => return Err(ChoiceFault::new(&[&key], "unknown_option", "known are algorithm, options")),
            }
        }
        choice.check()?;
        Ok(choice)
    }

    fn read_options(&mut self, options: Map<String, Value>) -> Result<(), ChoiceFault> {
        let (mut dividing, mut planning) = (Map::new(), Map::new());
        for (key, value) in options {
            let invalid = |e: serde_json::Error| ChoiceFault::new(&["options", &key], "invalid_value", e.to_string());
            // Each key is tried alone first, so that a fault names its key.
            let alone = || Value::Object(Map::from_iter([(key.clone(), value.clone())]));
            if division::Options::KEYS.contains(&key.as_str()) {
                serde_json::from_value::<division::Options>(alone()).map_err(invalid)?;
                dividing.insert(key, value);
            } else if PlanOptions::KEYS.contains(&key.as_str()) {
                serde_json::from_value::<PlanOptions>(alone()).map_err(invalid)?;
                planning.insert(key, value);
            } else {
                let known: Vec<_> = division::Options::KEYS.into_iter().chain(PlanOptions::KEYS).collect();
                let detail = format!("unknown option; known are {}", known.join(", "));
                return Err(ChoiceFault::new(&["options", &key], "unknown_option", detail));
            }
        }
        let invalid = |e: serde_json::Error| ChoiceFault::new(&["options"], "invalid_value", e.to_string());
        self.options = serde_json::from_value(Value::Object(dividing)).map_err(invalid)?;
        self.plan = serde_json::from_value(Value::Object(planning)).map_err(invalid)?;
        Ok(())
    }

    fn check(&self) -> Result<(), ChoiceFault> {
        if let Some((key, detail)) = self.options.fault() {
            let path: Vec<&str> = std::iter::once("options").chain(key.split('/')).collect();
            return Err(ChoiceFault::new(&path, "out_of_range", detail));
        }
        let out_of_range = |key: &str, detail: String| Err(ChoiceFault::new(&["options", key], "out_of_range", detail));
        if self.plan.search_budget_ms > MAX_SEARCH_BUDGET_MS {
            return out_of_range("search_budget_ms", format!("search_budget_ms is at most {MAX_SEARCH_BUDGET_MS}"));
        }
        if self.plan.reclaimer_utilization_multiplier < Amount::whole(1) {
            let detail = "reclaimer_utilization_multiplier is at least 1".to_owned();
            return out_of_range("reclaimer_utilization_multiplier", detail);
        }
        if let Some(unknown) = self.plan.tiers.iter().flatten().find(|name| plugin(name).is_none()) {
            let known: Vec<_> = plugin_names().collect();
            let detail = format!("there is no plug-in {unknown:?}; known are {}", known.join(", "));
            return Err(ChoiceFault::new(&["options", "tiers"], "unknown_plugin", detail));
        }
        Ok(())
    }

    /// The option in force, defaults included.
    pub fn to_json(&self) -> Value {
        let mut options = Map::new();
        for part in [serde_json::to_value(&self.options), serde_json::to_value(&self.plan)] {
            let Ok(Value::Object(keys)) = part else { continue };
            options.extend(keys.into_iter().filter(|(_, value)| !value.is_null()));
        }
        serde_json::json!({"algorithm": self.algorithm.0, "options": options})
    }
}

fn algorithm_of(value: &Value) -> Result<AlgorithmName, ChoiceFault> {
    let known = algorithm_names().find(|name| value.as_str() == Some(name)).map(AlgorithmName);
    known.ok_or_else(|| {
        let names: Vec<_> = algorithm_names().collect();
        let detail = format!("unknown algorithm; known are {}", names.join(", "));
        ChoiceFault::new(&["algorithm"], "unknown_algorithm", detail)
    })
}
