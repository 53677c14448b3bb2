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

use serde::de::IgnoredAny;

use super::yaml;
use crate::cli::failure::CommandFailure;
use crate::domain::reading::{DecodeError, read_from};
use crate::rest::configuration::view::GroupConfiguration;
use crate::service::Error;
use crate::service::input::json::{self, JsonError};

/// Reads YAML or JSON. `name` is used in errors. `None` if the file is empty.
pub fn read(bytes: &[u8], name: &str) -> Result<Option<GroupConfiguration>, CommandFailure> {
    let text = std::str::from_utf8(bytes).map_err(|_| CommandFailure::Unusable(format!("{name} is not UTF-8 text")))?;
    if text.trim_start().starts_with('{') {
        // Broken JSON is often valid YAML with another meaning.
        return json::read(bytes).map(Some).map_err(|error| match error {
            JsonError::Malformed { detail, .. } => {
                CommandFailure::Unusable(format!("{name}: {detail}; what begins with {{ is read as JSON"))
            }
            JsonError::Wrong(_) => CommandFailure::from(Error::from(error)).in_input(name),
        });
    }
    if let Err(error) = serde_norway::from_str::<IgnoredAny>(text) {
        if error.location().is_none() && serde_norway::Deserializer::from_str(text).nth(1).is_some() {
            return Err(CommandFailure::Unusable(format!(
                "{name} holds several YAML documents; weights are one document"
            )));
        }
        let place = error.location().map(|at| format!(" from line {}, column {} on", at.line(), at.column()));
        return Err(CommandFailure::Unusable(format!("{name} is not YAML{}", place.unwrap_or_default())));
    }
    let parsed = read_from::<Option<GroupConfiguration>, _>(serde_norway::Deserializer::from_str(text), "invalid_type");
    let fault =
        |misread: DecodeError| CommandFailure::from(Error::Invalid(vec![misread.fault("the file")])).in_input(name);
    parsed.map_err(fault)
}

pub fn to_yaml(document: &GroupConfiguration) -> Result<String, CommandFailure> {
    let value =
        serde_norway::to_value(document).map_err(|e| CommandFailure::Failed(format!("cannot write the file: {e}")))?;
    Ok(yaml::to_text(&value))
}
