//! The checks of `--check`: what is missing before the first round, each with what helps.

use domain::connectors::ConnectorMode;
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

/// The report of `--check`. `S` is what it says about the scheduler: its version, and how it is mapped.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SetupReport<S> {
    pub ok: bool,
    pub mode: ConnectorMode,
    pub cluster: Option<String>,
    pub resource_group: Option<String>,
    #[serde(flatten)]
    pub scheduler: S,
    pub checks: Vec<SetupCheck>,
}

impl<S: Default> SetupReport<S> {
    /// The report before the first check.
    pub fn new(mode: ConnectorMode) -> Self {
        Self { ok: true, mode, cluster: None, resource_group: None, scheduler: S::default(), checks: Vec::new() }
    }
}

impl<S> SetupReport<S> {
    /// Adds the result of a check.
    pub fn add(&mut self, check: SetupCheck) {
        self.ok &= !check.is_error();
        self.checks.push(check);
    }
}
