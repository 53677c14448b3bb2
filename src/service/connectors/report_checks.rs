//! The checks of the report of a connector's round.

use crate::api::connector_round::{ConnectorReport, MAX_CODE, MAX_DETAIL};
use crate::domain::names::{check_label, check_name};
use crate::service::{Fault, RequestFaults, Result};

/// The longest round, in seconds.
const MAX_SECONDS: f64 = 31_536_000.0;

/// Checks the values of the report of `cluster`.
pub(super) fn check_report(report: &ConnectorReport, cluster: &str) -> Result<()> {
    let mut faults = RequestFaults::default();
    if let Err(error) = check_name(cluster) {
        faults.push(Fault::about("/cluster", "invalid_name", error));
    }
    if let Err(said) = check_short_text(&report.version) {
        faults.push(Fault::about("/version", "invalid_value", said));
    }
    if report.kendall_tau.is_some_and(|tau| !(-1.0..=1.0).contains(&tau)) {
        faults.push(Fault::about("/kendall_tau", "out_of_range", "must be -1 to 1"));
    }
    if !(0.0..=MAX_SECONDS).contains(&report.seconds) {
        faults.push(Fault::about("/seconds", "out_of_range", format!("must be 0 to {MAX_SECONDS}")));
    }
    if report.same_place > report.compared {
        faults.push(Fault::about("/same_place", "contradiction", "is above `compared`"));
    }
    for (at, error) in report.errors.iter().enumerate() {
        if let Err(said) = check_short_text(&error.code) {
            faults.push(Fault::about(format!("/errors/{at}/code"), "invalid_value", said));
        }
        if error.detail.chars().count() > MAX_DETAIL {
            let said = format!("has more than {MAX_DETAIL} characters");
            faults.push(Fault::about(format!("/errors/{at}/detail"), "invalid_value", said));
        }
    }
    faults.or(())
}

/// Checks a version or a code: 1 to 64 visible characters.
fn check_short_text(text: &str) -> std::result::Result<(), &'static str> {
    let is_legal = check_label(text).is_ok() && text.chars().count() <= MAX_CODE;
    if is_legal { Ok(()) } else { Err("must have 1 to 64 characters, all of them visible, and no space at either end") }
}
