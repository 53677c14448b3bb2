//! The users of the negotiator, as `condor_userprio` lists them: the factor and the priority of each.

use std::collections::BTreeMap;

use super::programs::PRIORITIES;
use crate::fault::RoundFault;

/// The arguments. The collector would answer with values that are minutes old.
pub const ARGS: [&str; 7] =
    ["-negotiator", "-allusers", "-af:rV,", "Name", "IsAccountingGroup", "PriorityFactor", "Priority"];
/// The least real priority, which a user has who has used nothing.
pub const LEAST_REAL_PRIORITY: f64 = 0.5;

/// A user of the negotiator.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct NegotiatorUser {
    pub factor: f64,
    /// The effective priority: the real one times the factor. The lowest starts first.
    pub priority: f64,
}

impl NegotiatorUser {
    /// The part of the priority that follows from HTCondor's own record of usage.
    pub fn real_priority(&self) -> f64 {
        self.priority / self.factor.max(1.0)
    }

    /// True if the factor is `value`. HTCondor keeps factors with about seven digits.
    pub fn has_factor(&self, value: i64) -> bool {
        let value = value as f64;
        (self.factor - value).abs() <= 0.5_f64.max(value * 1e-6)
    }
}

/// Reads the users by the name of their accounting principal. Accounting groups themselves are left out.
pub fn read_users(text: &str) -> Result<BTreeMap<String, NegotiatorUser>, RoundFault> {
    let mut users = BTreeMap::new();
    for line in text.lines().filter(|line| !line.trim().is_empty()) {
        let (name, user) = read_line(line).map_err(|reason| RoundFault::unknown_format(PRIORITIES, line, reason))?;
        users.extend(user.map(|user| (name, user)));
    }
    Ok(users)
}

fn read_line(line: &str) -> Result<(String, Option<NegotiatorUser>), &'static str> {
    let (name, rest) = read_text(line).ok_or("its first field is no text in quotes")?;
    let fields: Vec<&str> = rest.split(',').map(str::trim).collect();
    let ["", is_group, factor, priority] = fields[..] else { return Err("it has not four fields") };
    match is_group {
        "true" => return Ok((name, None)),
        "false" => {}
        _ => return Err("its second field is neither true nor false"),
    }
    let number = |text: &str| text.parse::<f64>().ok().filter(|number| number.is_finite());
    let (Some(factor), Some(priority)) = (number(factor), number(priority)) else {
        return Err("a factor or a priority is no number");
    };
    Ok((name, Some(NegotiatorUser { factor, priority })))
}

/// The text in quotes at the beginning of a line, and what follows it.
fn read_text(line: &str) -> Option<(String, &str)> {
    let inside = line.strip_prefix('"')?;
    let (mut text, mut chars) = (String::new(), inside.char_indices());
    while let Some((at, char)) = chars.next() {
        match char {
            '"' => return Some((text, &inside[at + 1..])),
            '\\' => text.push(chars.next()?.1),
            other => text.push(other),
        }
    }
    None
}
