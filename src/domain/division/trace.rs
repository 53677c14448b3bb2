//! Why every queue gets what it gets: each step that gave it something, so that a person can redo it.

use std::borrow::Cow;

use serde::Serialize;
use utoipa::ToSchema;

use super::tree::Tree;
use crate::domain::decimal::Amount;

/// One gift to one queue.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Step {
    pub queue: usize,
    /// The slot; `None` for a step over all slots (a ratio).
    pub column: Option<usize>,
    /// What gave it: `quota`, `over_quota`, `last_digit`, `whole`, `remainder`, `min_share`, `weight`, `fifo`, `filling`, ...
    pub rule: &'static str,
    /// Rounds count from 1 in each level, slot and priority group; 0 for rules without rounds.
    pub round: u32,
    pub priority: Option<i32>,
    /// What was divided in this round.
    pub divided: Option<Amount>,
    pub weight: Option<Amount>,
    pub weight_sum: Option<Amount>,
    pub offer: Option<Amount>,
    pub gift: Amount,
    /// Dominant share over weight at which the filling of `drf` left the queue.
    pub level: Option<Amount>,
    /// What kept the gift below the offer or ended the growth: `request`, `limit`, or a slot that is used up.
    pub capped_by: Option<Cow<'static, str>>,
}

/// Collects steps, or nothing at all when nobody asked.
#[derive(Debug, Default)]
pub struct Trace {
    steps: Option<Vec<Step>>,
}

impl Trace {
    pub fn on() -> Self {
        Self { steps: Some(Vec::new()) }
    }

    pub fn off() -> Self {
        Self::default()
    }

    pub fn is_on(&self) -> bool {
        self.steps.is_some()
    }

    /// Keeps the step when it gave something or was an offer that came to nothing.
    pub fn push(&mut self, step: impl FnOnce() -> Step) {
        if let Some(steps) = &mut self.steps {
            steps.push(step());
        }
    }

    /// The steps of each queue, in the order in which they happened.
    pub fn explain(self, tree: &Tree, fair_share: impl Fn(usize, usize) -> Amount) -> Option<Vec<Explanation>> {
        let steps = self.steps?;
        let mut explanations: Vec<Explanation> = (0..tree.len())
            .map(|q| Explanation { queue: tree.name(q).to_owned(), sentence: String::new(), steps: Vec::new() })
            .collect();
        for step in steps {
            explanations[step.queue].steps.push(step);
        }
        for (queue, explanation) in explanations.iter_mut().enumerate() {
            explanation.sentence = sentence(tree, queue, &explanation.steps, &fair_share);
        }
        Some(explanations)
    }
}

/// What one queue gets, in words and in steps.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Explanation {
    pub queue: String,
    pub sentence: String,
    pub steps: Vec<Step>,
}

/// A step as it is shown: names for indices, no empty keys.
#[derive(Clone, Debug, Serialize, ToSchema)]
#[schema(as = DivisionStep)]
pub struct ShownStep {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub slot: Option<&'static str>,
    pub rule: &'static str,
    #[serde(skip_serializing_if = "is_zero")]
    pub round: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub priority: Option<i32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub divided: Option<Amount>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub weight: Option<Amount>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub weight_sum: Option<Amount>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub offer: Option<Amount>,
    pub gift: Amount,
    /// `drf`: the dominant share over the weight that the queue had reached at its end.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub level: Option<Amount>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>)]
    pub capped_by: Option<Cow<'static, str>>,
}

#[allow(clippy::trivially_copy_pass_by_ref)] // the signature serde asks for
fn is_zero(round: &u32) -> bool {
    *round == 0
}

impl Step {
    pub fn shown(&self, tree: &Tree) -> ShownStep {
        ShownStep {
            slot: self.column.map(|c| tree.slots[c].as_str()),
            rule: self.rule,
            round: self.round,
            priority: self.priority,
            divided: self.divided,
            weight: self.weight,
            weight_sum: self.weight_sum,
            offer: self.offer,
            gift: self.gift,
            level: self.level,
            capped_by: self.capped_by.clone(),
        }
    }
}

/// "gets 16 of 36 gpu: 6 quota + 3/6 of the 20 unused", one clause for each slot; a child gets its part "of research's 24".
fn sentence(tree: &Tree, queue: usize, steps: &[Step], fair_share: &impl Fn(usize, usize) -> Amount) -> String {
    let mut clauses = Vec::new();
    let parent = tree.queues[queue].parent;
    let ratio: Vec<String> = steps.iter().filter(|s| s.column.is_none()).map(ratio_part).collect();
    if !ratio.is_empty() {
        clauses.push(format!("is to have {}", ratio.join(" + ")));
    }
    for (column, slot) in tree.slots.iter().enumerate() {
        let share = fair_share(queue, column);
        if tree.requestable(queue, column).is_zero() && share.is_zero() {
            continue;
        }
        let whole = match parent {
            None => tree.capacity[column].to_string(),
            Some(parent) => format!("{}'s {}", tree.name(parent), fair_share(parent, column)),
        };
        let parts: Vec<String> =
            steps.iter().filter(|s| s.column == Some(column) && !s.gift.is_zero()).map(part).collect();
        let reason = if parts.is_empty() { String::new() } else { format!(": {}", parts.join(" + ")) };
        clauses.push(format!("gets {share} of {whole} {slot}{reason}"));
    }
    if clauses.is_empty() { "wants nothing and gets nothing".to_owned() } else { clauses.join("; ") }
}

/// "0.5 of the whole (its minimum share)".
fn ratio_part(step: &Step) -> String {
    let reason = match step {
        Step { weight: Some(weight), weight_sum: Some(sum), divided: Some(divided), .. } => {
            format!("{weight}/{sum} of {divided} by weight")
        }
        Step { rule: "demand", .. } => "all it asks for".to_owned(),
        Step { rule: "min_share", .. } => "its minimum share".to_owned(),
        Step { rule: "fifo", .. } => "its turn".to_owned(),
        Step { rule, .. } => rule.replace('_', " "),
    };
    format!("{} of the whole ({reason})", step.gift)
}

fn part(step: &Step) -> String {
    let Step { gift, rule, ref capped_by, .. } = *step;
    match (step.weight, step.weight_sum, step.divided) {
        (Some(weight), Some(sum), Some(divided)) => {
            let kind = if rule == "over_quota" { "unused" } else { "left" };
            let offer = format!("{weight}/{sum} of the {divided} {kind}");
            match (capped_by, rule) {
                (None, "over_quota" | "by_weight") => offer,
                (Some(cap), "over_quota" | "by_weight") => format!("{gift} ({offer}, capped by its {cap})"),
                (cap, rule) => {
                    let cap = cap.as_ref().map(|cap| format!(", capped by its {cap}")).unwrap_or_default();
                    format!("{gift} as {} ({offer}{cap})", rule.replace('_', " "))
                }
            }
        }
        _ if rule == "filling" => match capped_by {
            Some(stop) => format!("{gift} by filling all queues evenly, ended by {}", with_article(stop)),
            None => format!("{gift} by its children"),
        },
        _ => format!("{gift} {}", named(rule)),
    }
}

fn with_article(stop: &str) -> String {
    match stop.split(' ').collect::<Vec<_>>()[..] {
        ["request"] | ["limit", "on", ..] => format!("its {stop}"),
        ["limit", "of", ..] => format!("the {stop}"),
        _ => stop.to_owned(),
    }
}

/// What a gift without a round of its own is called after its amount.
fn named(rule: &str) -> String {
    match rule {
        "request" => "as requested".to_owned(),
        "whole" => "in whole devices".to_owned(),
        other => other.replace('_', " "),
    }
}
