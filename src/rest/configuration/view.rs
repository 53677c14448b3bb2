//! The document with the weights and queues of a resource group.

use std::fmt;

use serde::de::{MapAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use utoipa::ToSchema;

use super::names::GroupNames;
use super::queue_entry::{QueueEntry, queue_entries};
use crate::domain::ids::{Member, Owner};
use crate::domain::queues::MAX_QUEUES;
use crate::domain::queues::QueueConfig;
use crate::domain::reading::{at_most, at_most_if_any, too_long};
use crate::domain::weight::{Weight, deserialize_nullable_text};
use crate::engine::group::snapshots::snapshot_data::GroupSnapshotData;
use crate::service::Service;
use crate::service::weight_input::MAX_ITEMS;
use crate::service::weights::WeightRow;

/// Weights and queues of a resource group by names.
#[derive(Debug, Default, Deserialize, Serialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(example = json!({
    "resource_group": "gpu-cluster", "domains": {"research": "2"}, "projects": {"climate": "1.5"},
    "users": [{"user": "alice", "project": "climate", "weight": "3"}],
    "queues": [{"name": "research", "quota": {"cuda.device": "10"}}]
}))]
pub struct GroupConfiguration {
    /// The group of the path, if it is named at all.
    pub resource_group: Option<String>,
    #[serde(default)]
    #[schema(value_type = std::collections::BTreeMap<String, WeightText>)]
    pub domains: WeightsByName,
    /// By name or UUID.
    #[serde(default)]
    #[schema(value_type = std::collections::BTreeMap<String, WeightText>)]
    pub projects: WeightsByName,
    #[serde(default, deserialize_with = "at_most::<MAX_ITEMS, _, _>")]
    #[schema(max_items = 250_000)]
    pub users: Vec<UserEntry>,
    /// Absent: queues are left alone.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "at_most_if_any::<MAX_QUEUES, _, _>")]
    #[schema(value_type = Option<Vec<QueueConfig>>, max_items = 100_000)]
    pub queues: Option<Vec<QueueEntry>>,
}

/// The weight of a user.
#[derive(Debug, Deserialize, Serialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct UserEntry {
    /// A name or UUID.
    pub user: String,
    /// A name or UUID; absent: all of the user's projects in the group.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub project: Option<String>,
    /// `null` unsets it.
    #[serde(deserialize_with = "WeightText::deserialize")]
    #[schema(required = true)]
    pub weight: WeightText,
}

/// A weight as written, or `null`.
#[derive(Debug, Deserialize, Serialize, ToSchema)]
#[serde(transparent)]
#[schema(value_type = Option<Weight>)]
pub struct WeightText(#[serde(deserialize_with = "deserialize_nullable_text")] Option<String>);

impl WeightText {
    pub fn set(weight: Weight) -> Self {
        Self(Some(weight.to_string()))
    }

    pub fn written(text: Option<String>) -> Self {
        Self(text)
    }

    /// The weight, or `None` for unset. The error is the text of a fault.
    pub fn parse(&self) -> Result<Option<Weight>, String> {
        self.0.as_deref().map(|text| Weight::parse(text).map_err(|e| format!("{text:?} {e}"))).transpose()
    }
}

/// A map that keeps its order and duplicate names, so that a check can refuse the duplicates.
#[derive(Debug, Default)]
pub struct WeightsByName(pub Vec<(String, WeightText)>);

impl Serialize for WeightsByName {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.iter().map(|(name, weight)| (name, weight)))
    }
}

impl<'de> Deserialize<'de> for WeightsByName {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct WeightEntries;
        impl<'de> Visitor<'de> for WeightEntries {
            type Value = WeightsByName;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a map from names to weights")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<WeightsByName, A::Error> {
                let mut entries = Vec::new();
                while let Some(entry) = map.next_entry()? {
                    if entries.len() == MAX_ITEMS {
                        return Err(too_long(MAX_ITEMS));
                    }
                    entries.push(entry);
                }
                Ok(WeightsByName(entries))
            }

            fn visit_unit<E>(self) -> Result<WeightsByName, E> {
                Ok(WeightsByName::default())
            }
        }
        deserializer.deserialize_any(WeightEntries)
    }
}

impl GroupConfiguration {
    /// The document with these weights, and with the current queues of the group.
    pub fn of(service: &Service, group: &GroupSnapshotData, weights: &[WeightRow]) -> Self {
        let names = GroupNames::of(service, group);
        let mut document =
            Self { resource_group: Some(group.name.to_string()), queues: queue_entries(group), ..Self::default() };
        for row in weights {
            let Some(weight) = row.weight.map(WeightText::set) else { continue };
            match &row.target {
                Owner::Domain(name) => document.domains.0.push((name.to_string(), weight)),
                Owner::Project(id) => document.projects.0.push((names.show_project(*id), weight)),
                Owner::User(Member { user, project }) => document.users.push(UserEntry {
                    user: names.show_user(*user),
                    project: Some(names.show_project(*project)),
                    weight,
                }),
            }
        }
        document
    }
}
