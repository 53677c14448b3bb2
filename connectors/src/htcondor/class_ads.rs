//! The ads of HTCondor (`ClassAd`), as its programs print them with `-json`.
//!
//! Names of attributes have no case in HTCondor, and its programs print one attribute in several spellings. Values that are
//! expressions are printed as texts of the form `/Expr(…)/`, so that they are no numbers.

use std::collections::BTreeMap;

use domain::decimal::Amount;
use domain::time::Timestamp;
use serde_json::{Map, Value};

use crate::fault::RoundFault;

/// An ad: the values of its attributes.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ClassAd {
    /// Values by the name of the attribute in small letters.
    values: BTreeMap<String, Value>,
}

/// Reads the ads that a program printed. HTCondor prints nothing at all where there is no ad.
pub fn read_ads(program: &str, text: &str) -> Result<Vec<ClassAd>, RoundFault> {
    if text.trim().is_empty() {
        return Ok(Vec::new());
    }
    let ads: Vec<Map<String, Value>> = serde_json::from_str(text).map_err(|error| {
        if error.is_eof() {
            return RoundFault::half_answer(program);
        }
        RoundFault::new("unknown_format", format!("{program} printed no list of ads: {error}"))
    })?;
    let ad = |values: Map<String, Value>| ClassAd {
        values: values.into_iter().map(|(name, value)| (name.to_ascii_lowercase(), value)).collect(),
    };
    Ok(ads.into_iter().map(ad).collect())
}

impl ClassAd {
    fn value(&self, name: &str) -> Option<&Value> {
        self.values.get(&name.to_ascii_lowercase())
    }

    /// A text that is not empty.
    pub fn text(&self, name: &str) -> Option<&str> {
        self.value(name)?.as_str().filter(|text| !text.is_empty())
    }

    pub fn flag(&self, name: &str) -> Option<bool> {
        self.value(name)?.as_bool()
    }

    /// A whole number. HTCondor prints some of them with a point.
    pub fn integer(&self, name: &str) -> Option<i64> {
        let number = self.value(name)?;
        #[expect(clippy::cast_possible_truncation, reason = "a number beyond the range becomes the nearest one")]
        let rounded = number.as_f64().map(|float| float.round() as i64);
        number.as_i64().or(rounded)
    }

    /// A time, which HTCondor has in seconds since 1970. Its 0 is no time.
    pub fn time(&self, name: &str) -> Option<Timestamp> {
        self.integer(name).filter(|seconds| *seconds > 0).map(Timestamp::from_seconds)
    }

    /// An amount of a resource; `None` for an expression.
    pub fn amount(&self, name: &str) -> Option<Amount> {
        match self.value(name)? {
            Value::Number(number) => number.to_string().parse().ok(),
            _ => None,
        }
    }

    /// A text that `program` always prints.
    pub fn needed_text(&self, program: &str, name: &str) -> Result<&str, RoundFault> {
        self.text(name).ok_or_else(|| self.missing(program, name))
    }

    /// A whole number that `program` always prints.
    pub fn needed_integer(&self, program: &str, name: &str) -> Result<i64, RoundFault> {
        self.integer(name).ok_or_else(|| self.missing(program, name))
    }

    /// A time that `program` always prints.
    pub fn needed_time(&self, program: &str, name: &str) -> Result<Timestamp, RoundFault> {
        self.time(name).ok_or_else(|| self.missing(program, name))
    }

    fn missing(&self, program: &str, name: &str) -> RoundFault {
        let shown = self.text("GlobalJobId").or_else(|| self.text("Name")).unwrap_or("?");
        RoundFault::new("unknown_format", format!("{program} printed an ad of {shown} without a usable {name}"))
    }
}
