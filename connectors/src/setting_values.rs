//! The values of the keys in the table of a connector, and the table with comments.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use domain::connectors::ConnectorMode;
use domain::spelling::nearest_name_hint;

/// One key of the table.
#[derive(Clone, Copy, Debug)]
pub struct SettingEntry {
    pub key: &'static str,
    /// The default as TOML; empty if it follows from the scheduler.
    pub default: &'static str,
    pub about: &'static str,
}

/// A table of the configuration file that belongs to a connector.
#[derive(Clone, Debug, PartialEq)]
pub struct ConnectorTable {
    /// The file, for messages.
    pub file: PathBuf,
    pub values: toml::Table,
}

/// The fault of a value in the table of a connector.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("cannot read the configuration file {}: {detail}", file.display())]
pub struct SettingError {
    file: PathBuf,
    detail: String,
}

/// Sets every key of a connector's table. Faults name the file, the table and the key.
pub fn set_keys(
    table: Option<&ConnectorTable>,
    name: &str,
    mut set: impl FnMut(&str, &toml::Value) -> Result<(), String>,
) -> Result<(), SettingError> {
    let Some(ConnectorTable { file, values }) = table else { return Ok(()) };
    for (key, value) in values {
        let fault = |detail| SettingError { file: file.clone(), detail: format!("[{name}] {key} {detail}") };
        set(key, value).map_err(fault)?;
    }
    Ok(())
}

/// The fault of a key that is none of the entries.
pub fn unknown_key(key: &str, entries: &[SettingEntry]) -> String {
    let known: Vec<String> = entries.iter().map(|entry| entry.key.to_owned()).collect();
    format!("is not a setting of the connector{}", nearest_name_hint(key, &known, ""))
}

pub fn parse_text(value: &toml::Value) -> Result<String, String> {
    let text = value.as_str().filter(|text| !text.is_empty()).ok_or("is not a text in quotes")?;
    Ok(text.to_owned())
}

pub fn parse_texts(value: &toml::Value) -> Result<Vec<String>, String> {
    value.as_array().ok_or("is not a list of texts")?.iter().map(parse_text).collect()
}

pub fn parse_flag(value: &toml::Value) -> Result<bool, String> {
    value.as_bool().ok_or_else(|| "is neither true nor false".to_owned())
}

/// Reads a mode that is one of those that the connector has.
pub fn parse_mode(value: &toml::Value, modes: &[ConnectorMode]) -> Result<ConnectorMode, String> {
    let found = modes.iter().find(|mode| value.as_str() == Some(mode.as_str()));
    found.copied().ok_or_else(|| {
        let names: Vec<String> = modes.iter().map(|mode| format!("\"{}\"", mode.as_str())).collect();
        let (last, others) = names.split_last().map_or(("", &[][..]), |(last, others)| (&**last, others));
        format!("is none of {} and {last}", others.join(", "))
    })
}

pub fn parse_number<T: TryFrom<i64>>(value: &toml::Value, least: i64, most: i64) -> Result<T, String> {
    let found = value.as_integer().filter(|number| (least..=most).contains(number));
    found
        .and_then(|number| T::try_from(number).ok())
        .ok_or_else(|| format!("is not a whole number from {least} to {most}"))
}

/// Reads a duration such as `15s`, `1m`, `6h` or `2d`.
pub fn parse_duration(value: &toml::Value) -> Result<Duration, String> {
    let wrong = "is not a time like \"15s\", \"1m\", \"6h\" or \"2d\"";
    let text = value.as_str().ok_or(wrong)?;
    let unit = text.chars().last().ok_or(wrong)?;
    let seconds: u64 = match unit {
        's' => 1,
        'm' => 60,
        'h' => 3_600,
        'd' => 86_400,
        _ => return Err(wrong.to_owned()),
    };
    let number = text[..text.len() - 1].parse::<u32>().ok().filter(|number| *number > 0).ok_or(wrong)?;
    Ok(Duration::from_secs(u64::from(number) * seconds))
}

pub fn parse_slots(value: &toml::Value) -> Result<BTreeMap<String, String>, String> {
    let table = value.as_table().ok_or("is not a table of resources and slots")?;
    table.iter().map(|(resource, slot)| Ok((resource.clone(), parse_text(slot)?))).collect()
}

/// The table with comments, and the settings of the program that a connector needs.
pub fn commented_table(table: &str, entries: &[SettingEntry]) -> String {
    let mut text = format!(
        "# The settings of `fairshared connect {table} --config FILE`. Lines that begin with # show defaults.\n\n\
         # The server, and a file with a key of the role connector.\n\
         server = \"https://fairshared.example.org\"\n\
         key_file = \"/etc/fairshared/{table}.key\"\n\n\
         [{table}]\n",
    );
    for SettingEntry { key, default, about } in entries {
        let default = if default.is_empty() { "\"gpu-cluster\"" } else { default };
        text.extend(["# ", key, ": ", about, ".\n# ", key, " = ", default, "\n\n"]);
    }
    text.truncate(text.trim_end().len());
    text.push('\n');
    text
}
