//! A tier of the hierarchy as an argument.

use clap::builder::{PossibleValuesParser, TypedValueParser};

use crate::domain::tier::Tier;

/// Parses a tier; the help lists all of them.
pub fn tier() -> impl TypedValueParser<Value = Tier> {
    PossibleValuesParser::new(Tier::ALL.map(Tier::as_str)).try_map(|name| name.parse())
}
