//! The checks of `--check`: what is missing before the first round, each with what helps.

use serde::Serialize;

/// How much a check that failed matters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum CheckLevel {
    Error,
    Warning,
    Info,
}

/// The result of one check.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct SetupCheck {
    pub name: &'static str,
    pub ok: bool,
    pub level: CheckLevel,
    pub detail: String,
    /// The command, or the line of a configuration, that helps.
    pub fix: Option<String>,
}

impl SetupCheck {
    pub fn passed(name: &'static str, detail: impl Into<String>) -> Self {
        Self { name, ok: true, level: CheckLevel::Info, detail: detail.into(), fix: None }
    }

    pub fn failed(name: &'static str, detail: impl Into<String>, fix: impl Into<String>) -> Self {
        Self { name, ok: false, level: CheckLevel::Error, detail: detail.into(), fix: Some(fix.into()) }
    }

    #[must_use]
    pub fn as_warning(self) -> Self {
        Self { level: CheckLevel::Warning, ..self }
    }

    /// True if the check stands in the way of a round.
    pub fn is_error(&self) -> bool {
        !self.ok && self.level == CheckLevel::Error
    }
}
