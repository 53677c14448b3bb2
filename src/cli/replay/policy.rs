//! A policy in a file: the output of `options get`, followed by weights in the form of `weights get`.
//!
//! ```yaml
//! scheduler: fairshare          # or lines KEY=VALUE at the top, or what `options get -o json` prints
//! scheduler_opts:
//!   half_life_days: 14
//!   order: tiered
//! domains:
//!   research: 2
//! users:
//!   - {user: alice, project: climate, weight: 3}
//! ```

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use serde::de::IgnoredAny;
use serde_json::{Map, Value};
use uuid::Uuid;

use crate::cli::failure::CommandFailure;
use crate::cli::open::{input_name, read_input};
use crate::cli::options::pair;
use crate::domain::fault::Fault;
use crate::domain::identity;
use crate::domain::ids::{Member, Owner, ProjectId, UserId};
use crate::domain::options::FairShareOptions;
use crate::domain::reading::read_from;
use crate::domain::replay::history::ReplayHistory;
use crate::domain::replay::policy::ReplayPolicy;
use crate::domain::sequencer::Sequencer;
use crate::domain::weight::Weight;
use crate::rest::configuration::view::{GroupConfiguration, UserEntry, WeightText};
use crate::service::Error;

/// Keys in the output of `options get` and `weights get` that a policy ignores.
const IGNORED_KEYS: [&str; 4] = ["resource_group", "warnings", "config_revision", "queues"];
const WEIGHT_KEYS: [&str; 3] = ["domains", "projects", "users"];

/// The number of weights without jobs that a note names.
const MAX_NAMED_WEIGHTS: usize = 5;

/// A policy whose weights still have names instead of ids.
pub(super) struct PolicyDraft {
    name: String,
    /// The file, as errors name it.
    shown: String,
    sequencer: Sequencer,
    options: FairShareOptions,
    weights: GroupConfiguration,
}

pub(super) fn read(file: &Path) -> Result<PolicyDraft, CommandFailure> {
    let (bytes, shown) = (read_input(file)?, input_name(file));
    let text = String::from_utf8(bytes).map_err(|_| CommandFailure::Unusable(format!("{shown} is not UTF-8 text")))?;
    let name = file.file_stem().map_or_else(|| shown.clone(), |stem| stem.to_string_lossy().into_owned());
    let document = document(&text).map_err(|said| CommandFailure::Unusable(format!("{shown}: {said}")))?;
    draft(name, shown.clone(), document).map_err(|failure| failure.in_input(&shown))
}

/// The file as one map of `KEY=VALUE` lines and the YAML or JSON after them.
fn document(text: &str) -> Result<Map<String, Value>, String> {
    let is_pair = |line: &str| {
        let key = line.split_once('=').map(|(key, _)| key);
        line.trim().is_empty()
            || key.is_some_and(|key| !key.is_empty() && key.bytes().all(|b| b.is_ascii_lowercase() || b == b'_'))
    };
    let pairs: Vec<&str> = text.lines().take_while(|line| is_pair(line)).collect();
    let rest: String = text.lines().skip(pairs.len()).flat_map(|line| [line, "\n"]).collect();
    // Replaces the lines before by empty lines, so that line numbers in errors are right.
    let padded = "\n".repeat(pairs.len()) + &rest;
    let mut map = yaml(&padded)?;
    for line in pairs.into_iter().map(str::trim).filter(|line| !line.is_empty()) {
        let (key, value) = pair(line)?;
        if map.insert(key.clone(), value).is_some() {
            return Err(format!("`{key}` is there twice"));
        }
    }
    Ok(map)
}

fn yaml(text: &str) -> Result<Map<String, Value>, String> {
    if let Err(error) = serde_norway::from_str::<IgnoredAny>(text) {
        let place = error.location().map(|at| format!(" from line {}, column {} on", at.line(), at.column()));
        return Err(format!("a policy is not YAML{}", place.unwrap_or_default()));
    }
    match serde_norway::from_str::<Value>(text) {
        Ok(Value::Null) => Ok(Map::new()),
        Ok(Value::Object(map)) => Ok(map),
        Ok(_) | Err(_) => Err("a policy is not a map of keys, like `scheduler: fairshare`".to_owned()),
    }
}

fn draft(name: String, shown: String, mut document: Map<String, Value>) -> Result<PolicyDraft, CommandFailure> {
    let invalid = |fault: Fault| CommandFailure::from(Error::Invalid(vec![fault]));
    document.retain(|key, _| !IGNORED_KEYS.contains(&key.as_str()));
    let mut weights = Map::new();
    for key in WEIGHT_KEYS {
        weights.extend(document.remove_entry(key));
    }
    let weights = read_from::<GroupConfiguration, _>(Value::Object(weights), "invalid_type");
    let weights = weights.map_err(|misread| CommandFailure::from(Error::Invalid(vec![misread.fault("the policy")])))?;
    let scheduler = document.remove("scheduler").unwrap_or_else(|| Sequencer::DEFAULT_NAME.into());
    let sequencer = scheduler.as_str().and_then(Sequencer::by_name).filter(|known| !known.takes_turns());
    let sequencer = sequencer.ok_or_else(|| {
        let known: Vec<&str> =
            Sequencer::names().filter(|name| Sequencer::by_name(name).is_some_and(|s| !s.takes_turns())).collect();
        CommandFailure::Unusable(format!("`scheduler` is {scheduler}, and a replay knows {}", known.join(", ")))
    })?;
    let mut options = match document.remove("scheduler_opts") {
        None | Some(Value::Null) => Map::new(),
        Some(Value::Object(options)) => options,
        Some(_) => return Err(CommandFailure::Unusable("`scheduler_opts` is not a map of options".to_owned())),
    };
    for (key, value) in document {
        if options.insert(key.clone(), value).is_some() {
            return Err(CommandFailure::Unusable(format!("`{key}` is there twice")));
        }
    }
    let options = FairShareOptions::parse(&options).map_err(|mut faults| invalid(faults.remove(0)))?;
    Ok(PolicyDraft { name, shown, sequencer, options, weights })
}

/// Resolves the names of the weights.
pub(super) fn resolve(
    drafts: Vec<PolicyDraft>,
    history: &ReplayHistory,
    notes: &mut Vec<String>,
) -> Result<Vec<ReplayPolicy>, CommandFailure> {
    let mut policies: Vec<ReplayPolicy> = Vec::new();
    for draft in drafts {
        let PolicyDraft { name, shown, sequencer, options, weights } = draft;
        let mut found = NamedWeights { history, found: BTreeMap::new(), unknown: Vec::new() };
        found.take(weights).map_err(|said| CommandFailure::Unusable(format!("{shown}: {said}")))?;
        let NamedWeights { found: weights, unknown, .. } = found;
        if !unknown.is_empty() {
            let named: Vec<&str> = unknown.iter().take(MAX_NAMED_WEIGHTS).map(String::as_str).collect();
            let more = unknown.len().checked_sub(MAX_NAMED_WEIGHTS).filter(|more| *more > 0);
            let more = more.map(|more| format!(" and {more} others")).unwrap_or_default();
            notes.push(format!(
                "{name}: these weights belong to owners without jobs in the trace: {}{more}",
                named.join(", ")
            ));
        }
        let others =
            policies.iter().filter(|other| other.name == name || other.name.starts_with(&format!("{name} ("))).count();
        let name = if others == 0 { name } else { format!("{name} ({})", others + 1) };
        policies.push(ReplayPolicy { name, sequencer, options, weights });
    }
    Ok(policies)
}

struct NamedWeights<'h> {
    history: &'h ReplayHistory,
    found: BTreeMap<Owner, Weight>,
    /// Domains, projects and users that have weights but no jobs in the trace.
    unknown: Vec<String>,
}

impl NamedWeights<'_> {
    fn take(&mut self, weights: GroupConfiguration) -> Result<(), String> {
        for (name, weight) in weights.domains.0 {
            let known = self.history.owners.iter().find(|person| *person.domain == *name);
            let owner = known.map(|person| Owner::Domain(Arc::clone(&person.domain)));
            self.set(format!("domain {name:?}"), owner.into_iter().collect(), &weight)?;
        }
        for (name, weight) in weights.projects.0 {
            let id = self.project(&name);
            let known = self.history.owners.iter().any(|person| person.member.project == id);
            let owner = known.then_some(Owner::Project(id));
            self.set(format!("project {name:?}"), owner.into_iter().collect(), &weight)?;
        }
        for UserEntry { user: name, project: of, weight } in weights.users {
            let whose = match &of {
                Some(of) => format!("user {name:?} in the project {of:?}"),
                None => format!("user {name:?}"),
            };
            let (id, of) = (self.user(&name), of.as_deref().map(|name| self.project(name)));
            let is_it = |member: &Member| member.user == id && of.is_none_or(|of| member.project == of);
            let members = self.history.owners.iter().map(|person| person.member).filter(is_it);
            self.set(whose, members.map(Owner::User).collect(), &weight)?;
        }
        Ok(())
    }

    /// The user of the trace with this name, otherwise the one with this UUID.
    fn user(&self, text: &str) -> UserId {
        let by_rule = identity::user(text);
        let has_name = self.history.owners.iter().any(|person| person.member.user == by_rule);
        Uuid::try_parse(text).ok().filter(|_| !has_name).map_or(by_rule, UserId)
    }

    /// [`Self::user`] for projects.
    fn project(&self, text: &str) -> ProjectId {
        let by_rule = identity::project(text);
        let has_name = self.history.owners.iter().any(|person| person.member.project == by_rule);
        Uuid::try_parse(text).ok().filter(|_| !has_name).map_or(by_rule, ProjectId)
    }

    fn set(&mut self, whose: String, owners: Vec<Owner>, weight: &WeightText) -> Result<(), String> {
        let weight = weight.parse().map_err(|said| format!("the weight of the {whose}: {said}"))?;
        let Some(weight) = weight else { return Ok(()) };
        if owners.is_empty() {
            self.unknown.push(whose);
            return Ok(());
        }
        for owner in owners {
            if self.found.insert(owner, weight).is_some() {
                return Err(format!("the weight of the {whose} is there twice"));
            }
        }
        Ok(())
    }
}
