//! Quantities by the rules of Kubernetes, without its rounding.

use domain::decimal::{Amount, DecimalError};
use domain::quantity::parse;
use proptest::prelude::*;

use crate::support::cases;

#[test]
fn every_form_of_kubernetes_is_read_exactly() {
    for (text, amount) in [
        ("0", "0"),
        ("7", "7"),
        ("+7", "7"),
        ("-0", "0"),
        ("1.5", "1.5"),
        (".5", "0.5"),
        ("5.", "5"),
        (".0", "0"),
        ("0.", "0"),
        ("007", "7"),
        ("1n", "0.000000001"),
        ("1u", "0.000001"),
        ("500m", "0.5"),
        ("0.5m", "0.0005"),
        ("1500m", "1.5"),
        ("3k", "3000"),
        ("1M", "1000000"),
        ("2G", "2000000000"),
        ("1T", "1000000000000"),
        ("1P", "1000000000000000"),
        ("1E", "1000000000000000000"),
        ("1000E", "1000000000000000000000"),
        ("1Ki", "1024"),
        ("100Mi", "104857600"),
        ("64Gi", "68719476736"),
        ("1Ti", "1099511627776"),
        ("1Pi", "1125899906842624"),
        ("1Ei", "1152921504606846976"),
        ("1.5Gi", "1610612736"),
        ("0.1Gi", "107374182.4"),
        ("0.001Ki", "1.024"),
        ("1e3", "1000"),
        ("1E3", "1000"),
        ("1e+3", "1000"),
        ("12.5e-1", "1.25"),
        ("1e-12", "0.000000000001"),
        ("0e99999", "0"),
        ("100000000000e-11", "1"),
    ] {
        assert_eq!(parse(text).map(|a| a.to_string()).as_deref(), Ok(amount), "{text}");
    }
}

#[test]
fn what_is_no_quantity_is_refused() {
    let not = DecimalError::NotADecimal;
    for (text, error) in [
        ("", not),
        (".", not),
        ("m", not),
        ("Gi", not),
        ("1i", not),
        ("1K", not),
        ("1ki", not),
        ("1 Gi", not),
        ("1gi", not),
        ("1e", not),
        ("1E+", not),
        ("1e1.5", not),
        ("1..2", not),
        ("1.2.3", not),
        ("--1", not),
        ("+-1", not),
        ("0x1", not),
        ("NaN", not),
        ("1Gi1", not),
        ("½", not),
        ("1mm", not),
        ("-1", DecimalError::Negative),
        ("-500m", DecimalError::Negative),
        ("1e-13", DecimalError::TooManyDecimals(12)),
        ("0.0001n", DecimalError::TooManyDecimals(12)),
        ("1e-99999", DecimalError::TooManyDecimals(12)),
        ("0.0000000000001", DecimalError::TooManyDecimals(12)),
        ("1001E", DecimalError::TooLarge),
        ("1000Ei", DecimalError::TooLarge),
        ("1e22", DecimalError::TooLarge),
        ("1e99999", DecimalError::TooLarge),
    ] {
        assert_eq!(parse(text), Err(error), "{text}");
    }
    assert!(parse(&"9".repeat(60)).is_err());
    assert!(parse(&format!("{}Ei", "9".repeat(100))).is_err());
}

proptest! {
    #![proptest_config(cases(500))]

    #[test]
    fn plain_decimals_are_quantities(units in 0u128..10u128.pow(33)) {
        let amount = Amount::from_units(units);
        prop_assert_eq!(parse(&amount.to_string()), Ok(amount));
    }

    #[test]
    fn a_suffix_is_a_factor(count in 0u64..1_000_000) {
        let times = |factor| Amount::whole(count).checked_mul(factor);
        prop_assert_eq!(parse(&format!("{count}Mi")).ok(), times(1 << 20));
        prop_assert_eq!(parse(&format!("{count}k")).ok(), times(1_000));
        prop_assert_eq!(parse(&format!("{count}e6")).ok(), times(1_000_000));
        prop_assert_eq!(parse(&format!("{count}000m")).ok(), times(1));
    }

    #[test]
    fn no_text_panics(text in "[0-9+.eEKMGimn-]{0,12}") {
        let _ = parse(&text);
    }
}
