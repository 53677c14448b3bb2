//! The weights of a resource group as a file: YAML, or JSON of the same shape.
//!
//! ```yaml
//! resource_group: gpu-cluster    # which group, where the command names none; another one refuses the file
//! domains:
//!   research: 2
//! projects:                      # by display name where it is unique, else by UUID
//!   ml-training: 1.5
//! users:
//!   - {user: alice, project: ml-training, weight: 3}
//!   - {user: bob, weight: 0.5}   # in all of the user's projects
//!   - {user: carol, weight: null}   # unset: the group's default_weight
//! queues:                        # absent: queues are left alone; keys as in the REST API, each with its default
//!   - {name: research, quota: {cuda.device: 10}}
//!   - {name: vision, parent: research, over_quota_weight: 2}
//! ```

use std::fmt;

use serde::de::{IgnoredAny, MapAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::queues::QueueEntry;
use crate::cli::failure::Failure;
use crate::domain::reading::{Misread, read_from};
use crate::domain::weight::{Weight, deserialize_nullable_text};
use crate::service::Error;
use crate::service::input::json::{Unreadable, read};

#[derive(Debug, Default, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct WeightsFile {
    pub resource_group: Option<String>,
    #[serde(default)]
    pub domains: Named,
    #[serde(default)]
    pub projects: Named,
    #[serde(default)]
    pub users: Vec<UserEntry>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub queues: Option<Vec<QueueEntry>>,
}

#[derive(Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct UserEntry {
    pub user: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub project: Option<String>,
    /// May be null, but not absent.
    #[serde(deserialize_with = "WeightText::deserialize")]
    pub weight: WeightText,
}

/// A weight as written, or `null`.
#[derive(Debug, Deserialize, Serialize)]
#[serde(transparent)]
pub struct WeightText(#[serde(deserialize_with = "deserialize_nullable_text")] Option<String>);

impl WeightText {
    pub fn set(weight: Weight) -> Self {
        Self(Some(weight.to_string()))
    }

    /// The weight, or `None` for unset; else what is wrong with it.
    pub fn parse(&self) -> Result<Option<Weight>, String> {
        self.0.as_deref().map(|text| Weight::parse(text).map_err(|e| format!("{text:?} {e}"))).transpose()
    }
}

/// A map that keeps its order, and a name that is there twice for the check that refuses it.
#[derive(Debug, Default)]
pub struct Named(pub Vec<(String, WeightText)>);

impl Serialize for Named {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.iter().map(|(name, weight)| (name, weight)))
    }
}

impl<'de> Deserialize<'de> for Named {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Entries;
        impl<'de> Visitor<'de> for Entries {
            type Value = Named;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a map from names to weights")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Named, A::Error> {
                let mut entries = Vec::new();
                while let Some(entry) = map.next_entry()? {
                    entries.push(entry);
                }
                Ok(Named(entries))
            }

            fn visit_unit<E>(self) -> Result<Named, E> {
                Ok(Named::default())
            }
        }
        deserializer.deserialize_any(Entries)
    }
}

impl WeightsFile {
    /// Reads YAML or JSON; `name` stands in errors.
    pub fn read(bytes: &[u8], name: &str) -> Result<Self, Failure> {
        let text = std::str::from_utf8(bytes).map_err(|_| Failure::Unusable(format!("{name} is not UTF-8 text")))?;
        if text.trim_start().starts_with('{') {
            // Broken JSON is often YAML of another meaning.
            return read(bytes).map_err(|error| match error {
                Unreadable::Malformed { detail, .. } => {
                    Failure::Unusable(format!("{name}: {detail}; what begins with {{ is read as JSON"))
                }
                Unreadable::Wrong(_) => Failure::from(Error::from(error)).in_input(name),
            });
        }
        if let Err(error) = serde_norway::from_str::<IgnoredAny>(text) {
            let place = error.location().map(|at| format!(" from line {}, column {} on", at.line(), at.column()));
            return Err(Failure::Unusable(format!("{name} is not YAML{}", place.unwrap_or_default())));
        }
        let parsed = read_from::<Option<Self>, _>(serde_norway::Deserializer::from_str(text), "invalid_type");
        let fault = |misread: Misread| Failure::from(Error::Invalid(vec![misread.into()])).in_input(name);
        parsed.map(Option::unwrap_or_default).map_err(fault)
    }

    pub fn to_yaml(&self) -> Result<String, Failure> {
        serde_norway::to_string(self).map_err(|e| Failure::Failed(format!("cannot write the file: {e}")))
    }
}
