//! Lists of generic resources, which versions of Slurm write in many ways: `gpu:v100:4`, `gres:gpu:2`, `gres/gpu=4`,
//! `gpu:4(S:0-1)`, `gpu:a100:2(IDX:0-1),nic:1`, `gpu:1K`.

use super::count;
use crate::cli::import::reason::DropReason;
use crate::cli::import::skipped::SkippedFields;
use crate::domain::decimal::Amount;

/// The mark of a generic resource that a job shares with others.
const SHARED_MARK: &str = ":no_consume";

/// Generic resources with names of more than four characters, which do not follow from the number of their plug-in.
const LONG_NAMES: [&str; 3] = ["shard", "craynetwork", "license"];

/// The kind of a resource: `gres/gpu` for `gres/gpu:a100`.
pub(super) fn kind(name: &str) -> &str {
    name.split_once(':').map_or(name, |(kind, _)| kind)
}

/// The entries of a list, by Slurm's name. If a name occurs twice with different counts, the first one counts.
pub(super) fn read_list(field: &'static str, list: &str, skipped: &mut SkippedFields) -> Vec<(String, Amount)> {
    let mut entries: Vec<(String, Amount)> = Vec::new();
    for entry in split_entries(list).map(str::trim) {
        let bare = entry.split_once('(').map_or(entry, |(bare, _)| bare);
        if ["", "N/A", "none", "null", "0"].iter().any(|word| bare.eq_ignore_ascii_case(word)) {
            continue;
        }
        match read_entry(field, bare) {
            Ok((name, amount)) => match entries.iter().find(|(known, _)| *known == name) {
                None => entries.push((name, amount)),
                Some((_, first)) if *first == amount => {}
                Some(_) => skipped.add_amount(field, entry, DropReason::BadResources(field)),
            },
            Err(fault) => skipped.add_amount(field, entry, fault),
        }
    }
    entries
}

/// The parts between commas. Commas in parentheses separate numbers of devices instead.
fn split_entries(list: &str) -> impl Iterator<Item = &str> {
    let mut depth = 0_usize;
    list.split(move |c: char| {
        match c {
            '(' => depth += 1,
            ')' => depth = depth.saturating_sub(1),
            _ => {}
        }
        depth == 0 && matches!(c, ',' | ';')
    })
}

/// Reads an entry. Its last number is the count for the whole job; without one the count is 1.
fn read_entry(field: &'static str, bare: &str) -> Result<(String, Amount), DropReason> {
    let bare = bare.strip_prefix("gres/").or_else(|| bare.strip_prefix("gres:")).unwrap_or(bare);
    let bare = bare.replace(SHARED_MARK, "");
    let (name, amount) = match bare.split_once('=') {
        Some((name, number)) => (name, count::parse(number, field)?),
        None => match bare.rsplit_once(':').and_then(|(name, last)| Some((name, count::parse(last, field).ok()?))) {
            Some((name, amount)) => (name, amount),
            None => (bare.as_str(), Amount::ONE),
        },
    };
    let is_name = |part: &str| part.starts_with(|c: char| c.is_ascii_alphanumeric());
    if !name.split(':').all(is_name) {
        return Err(DropReason::BadResources(field));
    }
    let (kind, of_type) = name.find(':').map_or((name, ""), |at| name.split_at(at));
    if kind.bytes().all(|b| b.is_ascii_digit()) {
        let kind = name_of_plugin(kind).ok_or(DropReason::BadResources(field))?;
        return Ok((format!("gres/{kind}{of_type}"), amount));
    }
    Ok((format!("gres/{name}"), amount))
}

/// The name of a generic resource for the number of its plug-in, which some versions of Slurm print in its place.
fn name_of_plugin(number: &str) -> Option<String> {
    let id: u32 = number.parse().ok()?;
    if let Some(known) = LONG_NAMES.into_iter().find(|name| plugin_id(name) == id) {
        return Some(known.to_owned());
    }
    let name = String::from_utf8(id.to_le_bytes().into_iter().take_while(|byte| *byte != 0).collect()).ok()?;
    let is_name = name.starts_with(|c: char| c.is_ascii_alphabetic())
        && name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_');
    (is_name && plugin_id(&name) == id).then_some(name)
}

/// Slurm's number of a plug-in: the sum of the characters of its name, each shifted to one of the four bytes in turn.
fn plugin_id(name: &str) -> u32 {
    name.bytes()
        .zip([0, 8, 16, 24].into_iter().cycle())
        .fold(0, |id, (byte, shift)| id.wrapping_add(u32::from(byte) << shift))
}

/// True for a type that is a slice of a device by one of NVIDIA's profiles: `1g.5gb`, `a100_3g.20gb`, `1g.10gb+me`.
pub(super) fn is_device_slice(name: &str) -> bool {
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    let is_profile = |part: &str| {
        let profile = part.split_once("g.").and_then(|(slices, memory)| Some((slices, memory.strip_suffix("gb")?)));
        profile.is_some_and(|(slices, memory)| is_number(slices) && is_number(memory))
    };
    name.to_ascii_lowercase().split([':', '_', '-', '+']).any(is_profile)
}
