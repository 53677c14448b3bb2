//! Ranges of node names as Slurm and shells write them: `node[01-10]`, `n[1-3,7]`, `a[1-2]b[1-2]`, `node{01..10}`, and lists of
//! these.

use std::collections::BTreeSet;

use super::reason::DropReason;

/// The pairs of brackets that may enclose numbers.
const BRACKETS: [(char, char); 2] = [('[', ']'), ('{', '}')];

/// The nodes that `text` stands for, in its order; an error if there are more than `limit`. Brackets around a single
/// number are part of the name, as in the virtual nodes of PBS (`n1[0]`).
pub(super) fn expand(text: &str, limit: usize) -> Result<Vec<String>, DropReason> {
    let mut nodes = Vec::new();
    for name in split_outside_brackets(text)? {
        nodes.extend(expand_name(name, limit - nodes.len())?);
    }
    let distinct: BTreeSet<&String> = nodes.iter().collect();
    if distinct.len() < nodes.len() { Err(DropReason::BadNodeRange) } else { Ok(nodes) }
}

/// The parts between commas outside of brackets.
fn split_outside_brackets(text: &str) -> Result<Vec<&str>, DropReason> {
    let (mut parts, mut begin, mut awaited) = (Vec::new(), 0, None);
    for (at, character) in text.char_indices() {
        let opened = BRACKETS.iter().find(|(open, _)| *open == character);
        let is_close = BRACKETS.iter().any(|(_, close)| *close == character);
        match (opened, awaited) {
            (Some((_, close)), None) => awaited = Some(*close),
            (Some(_), Some(_)) => return Err(DropReason::BadNodeRange),
            (None, _) if is_close && awaited == Some(character) => awaited = None,
            (None, _) if is_close => return Err(DropReason::BadNodeRange),
            (None, None) if character == ',' => {
                parts.push(text[begin..at].trim());
                begin = at + 1;
            }
            (None, _) => {}
        }
    }
    parts.push(text[begin..].trim());
    if awaited.is_some() { Err(DropReason::BadNodeRange) } else { Ok(parts) }
}

/// All names that one name with brackets stands for; an error if there are more than `limit`.
fn expand_name(name: &str, limit: usize) -> Result<Vec<String>, DropReason> {
    let mut names = vec![String::new()];
    let mut rest = name;
    while let Some(at) = rest.find(|c| BRACKETS.iter().any(|(open, _)| *open == c)) {
        let (before, bracket) = rest.split_at(at);
        let end = bracket.find([']', '}']).ok_or(DropReason::BadNodeRange)?;
        let (bracket, after) = bracket.split_at(end + 1);
        let numbers = expand_numbers(bracket, limit)?;
        if names.len().saturating_mul(numbers.len()) > limit {
            return Err(DropReason::TooManyNodes);
        }
        let longer = |start: &String| {
            let start = format!("{start}{before}");
            numbers.iter().map(move |number| format!("{start}{number}")).collect::<Vec<_>>()
        };
        names = names.iter().flat_map(longer).collect();
        rest = after;
    }
    for name in &mut names {
        name.push_str(rest);
    }
    if names.len() > limit { Err(DropReason::TooManyNodes) } else { Ok(names) }
}

/// The numbers of `[01-10]`, `{01..10}` or `[1-3,7]`, as wide as the first number of each range.
fn expand_numbers(bracket: &str, limit: usize) -> Result<Vec<String>, DropReason> {
    let inside = &bracket[1..bracket.len() - 1];
    if !inside.contains(['-', ',']) && !inside.contains("..") {
        return Ok(vec![bracket.to_owned()]);
    }
    let mut numbers = Vec::new();
    for part in inside.split(',').map(str::trim) {
        let (first, last) = part.split_once("..").or_else(|| part.split_once('-')).unwrap_or((part, part));
        let (low, high) = (number(first)?, number(last)?);
        let count = high.checked_sub(low).ok_or(DropReason::BadNodeRange)?;
        if count >= limit as u64 || numbers.len() as u64 + count >= limit as u64 {
            return Err(DropReason::TooManyNodes);
        }
        let width = first.len();
        numbers.extend((low..=high).map(|number| format!("{number:0width$}")));
    }
    Ok(numbers)
}

fn number(digits: &str) -> Result<u64, DropReason> {
    let is_number = !digits.is_empty() && digits.len() <= 18 && digits.bytes().all(|b| b.is_ascii_digit());
    digits.parse().ok().filter(|_| is_number).ok_or(DropReason::BadNodeRange)
}
