//! Explains the share of every queue: the steps of a division as they are shown, and a sentence that sums them up.

use std::borrow::Cow;

use serde::Serialize;
use utoipa::ToSchema;

use crate::decimal::Amount;
use crate::division::exact::mul_div;
use crate::division::trace::{AllocationStep, DivisionStep, DivisionTrace, WHOLE_UNITS};
use crate::division::tree::QueueTree;

/// The explanation of one queue, as a sentence and as steps.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct QueueExplanation {
    pub queue: String,
    pub sentence: String,
    pub steps: Vec<DivisionStep>,
}

impl DivisionTrace {
    /// The steps of each queue, in the order in which they happened; `None` if none were collected.
    pub fn explain(
        self,
        tree: &QueueTree,
        fair_share: impl Fn(usize, usize) -> Amount,
    ) -> Option<Vec<QueueExplanation>> {
        let steps = self.into_steps()?;
        let mut explanations: Vec<QueueExplanation> = (0..tree.len())
            .map(|q| QueueExplanation { queue: tree.name(q).to_owned(), sentence: String::new(), steps: Vec::new() })
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
    /// A decimal; below 0 where whole devices take a fraction back.
    #[schema(value_type = String)]
    pub gift: AllocationStep,
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

impl ShownStep {
    pub fn of(step: &DivisionStep, tree: &QueueTree) -> Self {
        Self {
            slot: step.column.map(|c| tree.slots[c].as_str()),
            rule: step.rule,
            round: step.round,
            priority: step.priority,
            divided: step.divided,
            weight: step.weight,
            weight_sum: step.weight_sum,
            offer: step.offer,
            gift: step.gift,
            level: step.level,
            capped_by: step.capped_by.clone(),
        }
    }
}

/// A sentence such as "gets 16 of 36 gpu: 6 quota + 3/6 of the 20 unused", with one clause for each slot. A child gets
/// its part "of research's 24".
fn sentence(
    tree: &QueueTree,
    queue: usize,
    steps: &[DivisionStep],
    fair_share: &impl Fn(usize, usize) -> Amount,
) -> String {
    let mut clauses = Vec::new();
    let parent = tree.queues[queue].parent;
    let ratio: Vec<String> = steps.iter().filter(|s| s.column.is_none()).map(ratio_part).collect();
    if !ratio.is_empty() {
        clauses.push(format!("is to have {}", ratio.join(" + ")));
    }
    for (column, slot) in tree.slots.iter().enumerate() {
        let share = fair_share(queue, column);
        if tree.request[(queue, column)].is_zero() && share.is_zero() {
            continue;
        }
        let whole = match parent {
            None => tree.capacity[column].to_string(),
            Some(parent) => format!("{}'s {}", tree.name(parent), fair_share(parent, column)),
        };
        let reason = sum(steps.iter().filter(|s| s.column == Some(column) && !s.gift.is_zero()));
        clauses.push(format!("gets {share} of {whole} {slot}{reason}"));
    }
    if clauses.is_empty() { "wants nothing and gets nothing".to_owned() } else { clauses.join("; ") }
}

/// The parts of an amount, such as ": 3 quota + 1/2 of the 5 unused - 0.5 cut to whole devices".
fn sum<'a>(steps: impl Iterator<Item = &'a DivisionStep>) -> String {
    let mut text = String::new();
    for step in steps {
        text.push_str(match (text.is_empty(), step.gift.is_taken) {
            (true, false) => ": ",
            (true, true) => ": -",
            (false, false) => " + ",
            (false, true) => " - ",
        });
        text.push_str(&part(step));
    }
    text
}

/// A part of a ratio, such as "0.5 of the whole (its minimum share)".
fn ratio_part(step: &DivisionStep) -> String {
    let cap = step.capped_by.as_deref();
    let reason = match (step.rule, fraction_text(step)) {
        ("by_weight", Some(fraction)) => format!("{fraction} by weight"),
        ("min_share", _) if cap.is_some() && step.gift.is_zero() => "its weight is 0".to_owned(),
        ("min_share", fraction) => {
            let cut = fraction.map(|fraction| format!(", cut to {fraction}")).unwrap_or_default();
            let alone = if cap.is_some() { ", as its weight is 0" } else { "" };
            format!("its minimum share{cut}{alone}")
        }
        ("fifo", _) => format!("its turn: {}", cap.map_or_else(|| "what was left".to_owned(), bound_words)),
        ("demand" | "limit" | "parent" | "capacity", _) => bound_words(cap.unwrap_or("request")),
        (rule, _) => rule.replace('_', " "),
    };
    format!("{} of the whole ({reason})", step.gift)
}

/// The words for a bound that a queue has reached.
fn bound_words(bound: &str) -> String {
    match bound {
        "request" => "all it asks for".to_owned(),
        "capacity" => "all there is".to_owned(),
        "parent's share" => "all of its parent's share".to_owned(),
        bound => match bound.strip_prefix("request of ") {
            Some(slot) => format!("all the {slot} it asks for"),
            None => format!("cut by its {bound}"),
        },
    }
}

/// A fraction such as "3/6 of the 20": weight / sum of weights, and the amount that was divided.
fn fraction_text(step: &DivisionStep) -> Option<String> {
    let (weight, sum, divided) = (step.weight?, step.weight_sum?, step.divided?);
    let the = if step.column.is_some() { "the " } else { "" };
    Some(format!("{weight}/{sum} of {the}{divided}"))
}

/// True if the gift is the fraction of what was divided, rounded down or up to a unit of 10^-12.
fn is_fraction(step: &DivisionStep) -> bool {
    let (Some(weight), Some(sum), Some(divided)) = (step.weight, step.weight_sum, step.divided) else { return false };
    let (part, _) = mul_div(weight.units(), divided.units(), sum.units());
    (part..=part + 1).contains(&step.gift.amount.units())
}

/// The amount of a step and its reason, without the sign.
fn part(step: &DivisionStep) -> String {
    let (gift, rule, cap) = (step.gift.amount, step.rule, step.capped_by.as_deref());
    match fraction_text(step) {
        Some(fraction) => {
            let offer = format!("{fraction} {}", if rule == "over_quota" { "unused" } else { "left" });
            match cap {
                Some(cap @ ("request" | "limit")) => format!("{gift} ({offer}, capped by its {cap})"),
                Some(WHOLE_UNITS) => format!("{gift} ({offer}, in {WHOLE_UNITS})"),
                Some(cap) => format!("{gift} ({offer}, capped by the {cap})"),
                None if is_fraction(step) => offer,
                None => format!("{gift} ({offer})"),
            }
        }
        None if rule == "filling" => match cap {
            Some(stop) => format!("{gift} by filling all queues evenly, ended by {}", with_article(stop)),
            None => format!("{gift} by its children"),
        },
        None => {
            let cap = cap.filter(|cap| *cap != rule).map(|cap| format!(", capped by the {cap}")).unwrap_or_default();
            format!("{gift} {}{cap}", gift_words(step))
        }
    }
}

fn with_article(stop: &str) -> String {
    match stop.split(' ').collect::<Vec<_>>()[..] {
        ["request"] | ["limit", "on", ..] => format!("its {stop}"),
        ["limit", "of", ..] => format!("the {stop}"),
        _ => stop.to_owned(),
    }
}

/// The words after the amount of a gift that is no fraction of anything.
fn gift_words(step: &DivisionStep) -> String {
    match step.rule {
        "request" => "as requested".to_owned(),
        "limit" => "up to its limit".to_owned(),
        "whole" if step.gift.is_taken => "cut to whole devices".to_owned(),
        "whole" => "to whole devices".to_owned(),
        other => other.replace('_', " "),
    }
}
