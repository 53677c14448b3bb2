//! Exact numbers (FAIR_SHARE §2).

use domain::decimal::{Amount, ComputedNumber, DecimalError, ExactFactor, Usage, f64_text};
use proptest::prelude::*;

use crate::support::cases;

const SECOND: u64 = 1_000_000;
const FOUR_WEEKS: u64 = 28 * 86_400 * SECOND;

/// School arithmetic on decimal digits, lowest first, which shares no code with the tested one.
#[derive(Clone)]
struct Digits(Vec<u8>);

impl Digits {
    fn of(value: u128) -> Self {
        Self(value.to_string().bytes().rev().map(|b| b - b'0').collect())
    }

    fn times(&self, factor: u64) -> Self {
        let mut sum = Self::of(0);
        for (place, digit) in factor.to_string().bytes().rev().map(|b| b - b'0').enumerate() {
            let mut row = vec![0; place];
            row.extend(&self.0);
            let row = Self(row);
            for _ in 0..digit {
                sum = sum.plus(&row);
            }
        }
        sum
    }

    fn plus(&self, other: &Self) -> Self {
        let mut carry = 0;
        let length = self.0.len().max(other.0.len()) + 1;
        let digit = |d: &Self, at: usize| d.0.get(at).copied().unwrap_or(0);
        let sum = (0..length).map(|at| {
            let column = digit(self, at) + digit(other, at) + carry;
            carry = column / 10;
            column % 10
        });
        Self(sum.collect())
    }

    /// Half, rounded down.
    fn half(&self) -> Self {
        let mut rest = 0;
        let mut halves: Vec<u8> = self
            .0
            .iter()
            .rev()
            .map(|digit| {
                let whole = rest * 10 + digit;
                rest = whole % 2;
                whole / 2
            })
            .collect();
        halves.reverse();
        Self(halves)
    }

    /// As a count of `10^-decimals`, without trailing zeros.
    fn text(&self, decimals: usize) -> String {
        let mut digits = self.0.clone();
        digits.resize(digits.len().max(decimals + 1), 0);
        let text: String = digits.iter().rev().map(|d| char::from(d + b'0')).collect();
        let (whole, fraction) = text.split_at(text.len() - decimals);
        let whole = whole.trim_start_matches('0');
        let text = format!("{}.{fraction}", if whole.is_empty() { "0" } else { whole });
        text.trim_end_matches('0').trim_end_matches('.').to_owned()
    }
}

#[test]
fn amounts_print_without_trailing_zeros() {
    for (text, printed) in [
        ("0", "0"),
        ("-0", "0"),
        ("-0.000", "0"),
        ("00012.500", "12.5"),
        ("1.0", "1"),
        ("0.000001", "0.000001"),
        ("0.000000000001", "0.000000000001"),
        ("1.100000000000000000000", "1.1"),
        ("1000000000000000000", "1000000000000000000"),
        ("1000000000000000000000", "1000000000000000000000"),
    ] {
        assert_eq!(text.parse::<Amount>().map(|a| a.to_string()).as_deref(), Ok(printed), "{text}");
        assert_eq!(text.parse::<Usage>().map(|u| u.to_string()).as_deref(), Ok(printed), "{text}");
    }
}

#[test]
fn bad_texts_are_refused_with_their_reason() {
    let sixty = "9".repeat(60);
    let negative = format!("-{}", "9".repeat(50));
    let dots = ".".repeat(70);
    for (text, reason) in [
        ("", DecimalError::NotADecimal),
        ("-", DecimalError::NotADecimal),
        ("abc", DecimalError::NotADecimal),
        ("NaN", DecimalError::NotADecimal),
        ("inf", DecimalError::NotADecimal),
        ("1e3", DecimalError::NotADecimal),
        (".5", DecimalError::NotADecimal),
        ("5.", DecimalError::NotADecimal),
        ("+1", DecimalError::NotADecimal),
        ("--1", DecimalError::NotADecimal),
        (" 1", DecimalError::NotADecimal),
        ("1 ", DecimalError::NotADecimal),
        ("1.2.3", DecimalError::NotADecimal),
        ("1_000", DecimalError::NotADecimal),
        ("1,5", DecimalError::NotADecimal),
        ("0x10", DecimalError::NotADecimal),
        ("\u{0661}", DecimalError::NotADecimal),
        (dots.as_str(), DecimalError::NotADecimal),
        ("-1", DecimalError::Negative),
        ("-0.000001", DecimalError::Negative),
        (negative.as_str(), DecimalError::Negative),
    ] {
        assert_eq!(text.parse::<Amount>(), Err(reason), "{text}");
        assert_eq!(text.parse::<Usage>(), Err(reason), "{text}");
    }
    assert_eq!("0.0000000000001".parse::<Amount>(), Err(DecimalError::TooManyDecimals(12)));
    assert_eq!("0.0000000000000000001".parse::<Usage>(), Err(DecimalError::TooManyDecimals(18)));
    assert_eq!("1000000000000000000000.000000000001".parse::<Amount>(), Err(DecimalError::TooLarge));
    assert_eq!(sixty.parse::<Amount>(), Err(DecimalError::TooLarge));
    assert_eq!("9".repeat(100_000).parse::<Amount>(), Err(DecimalError::TooLarge));
    assert_eq!("9".repeat(100_000).parse::<Usage>(), Err(DecimalError::TooLarge));
}

#[test]
fn json_takes_texts_and_numbers_by_their_digits() {
    for (json, printed) in [
        ("\"0.1\"", "0.1"),
        ("0.1", "0.1"),
        ("1e-6", "0.000001"),
        ("4", "4"),
        ("4.0", "4"),
        ("1000000000000000000", "1000000000000000000"),
        ("18446744073709551615", "18446744073709551615"),
        ("123456789.123456", "123456789.123456"),
    ] {
        let amount: Amount = serde_json::from_str(json).expect(json);
        assert_eq!(serde_json::to_string(&amount).expect(json), format!("\"{printed}\""));
    }
    // Each of these would come out as another number than the one that was sent.
    // A number is rounded to 12 places from its digits, never through a float.
    for (json, printed) in [
        ("8007199254740991.3", "8007199254740991.3"),
        ("123456789.123456789012", "123456789.123456789012"),
        ("99999999999999999999", "99999999999999999999"),
        ("0.30000000000000004", "0.3"),
        ("0.3333333333333333", "0.333333333333"),
        ("0.66666666666666663", "0.666666666667"),
        ("1e-13", "0"),
        ("5e-13", "0.000000000001"),
        ("999999999999999999999.9999999999995", "1000000000000000000000"),
    ] {
        assert_eq!(serde_json::from_str::<Amount>(json).expect(json).to_string(), printed, "{json}");
    }
    for json in ["1e300", "1e22", "-1e-30", "\"0.3333333333333333\"", "\"1e-13\""] {
        assert!(serde_json::from_str::<Amount>(json).is_err(), "{json}");
    }
    for json in ["-1", "-0.5", "true", "null", "[]", "{}", "\"\"", "\"1e3\""] {
        assert!(serde_json::from_str::<Amount>(json).is_err(), "{json}");
    }
}

#[test]
fn the_smallest_and_the_largest_amounts_are_exact_over_four_weeks() {
    let usage = |amount: &str, micros: u64| amount.parse::<Amount>().expect(amount).for_micros(micros);
    assert_eq!(usage("0.000001", FOUR_WEEKS).to_string(), "2.4192");
    assert_eq!(usage("0.000001", 1).to_string(), "0.000000000001");
    let large = usage("1000000000000000000", FOUR_WEEKS);
    assert_eq!(large.to_string(), "2419200000000000000000000");
    // Both at once, as floats never could.
    assert_eq!((large + usage("0.000001", FOUR_WEEKS)).to_string(), "2419200000000000000000002.4192");
    assert_eq!((large + usage("0.000001", 1)).to_string(), "2419200000000000000000000.000000000001");
    // 64 TiB for 28 days does not fit 64 bits.
    assert_eq!(usage("70368744177664", FOUR_WEEKS).to_string(), "170236065914604748800");
    // The largest amount from 1970 to 9999, a million times.
    let whole: Usage = std::iter::repeat_n(usage("1000000000000000000000", 253_402_300_799_999_999), 1_000_000).sum();
    assert_eq!(whole.to_string(), "253402300799999999000000000000000000000");
    assert!(whole.to_f64().is_finite());
}

#[test]
fn a_capacity_beyond_any_cluster_can_still_be_read_back() {
    let most: Amount = "1000000000000000000000".parse().expect("the largest amount");
    let sum = most.saturating_add(most);
    assert_eq!(sum.to_string().parse(), Ok(sum));
}

#[test]
fn a_mean_is_rounded_half_up() {
    let mean = |amount: &str, micros: u64, over: u64| {
        amount.parse::<Amount>().expect("an amount").for_micros(micros).mean_over(over).to_string()
    };
    assert_eq!(mean("1", 2, 3), "0.666666666667");
    assert_eq!(mean("1", 1, 3), "0.333333333333");
    assert_eq!(mean("0.000000000001", 1, 2), "0.000000000001");
    assert_eq!(mean("0.000000000001", 2, 5), "0");
    assert_eq!(mean("0.000000000001", 3, 7), "0");
    assert_eq!(mean("0.000000000001", 4, 7), "0.000000000001");
    assert_eq!(mean("5", 7, 0), "0");
}

#[test]
fn scaling_by_nonsense_is_scaling_by_nothing() {
    let usage = Amount::whole(7).for_micros(SECOND);
    assert_eq!(usage.times(ExactFactor::new(1.0)).rounded(), usage);
    assert_eq!(usage.times(ExactFactor::new(f64::INFINITY)).rounded(), usage);
    for factor in [0.0, -0.0, -0.5, f64::NAN, f64::NEG_INFINITY, f64::MIN_POSITIVE / 2.0, f64::MIN_POSITIVE] {
        assert_eq!(usage.times(ExactFactor::new(factor)).rounded(), Usage::ZERO, "{factor}");
    }
}

#[test]
fn computed_numbers_show_at_most_twelve_places() {
    for (value, text) in [
        (0.0, "0"),
        (1.0, "1"),
        (100.0, "100"),
        (0.1 + 0.2, "0.3"),
        (1.0 / 3.0, "0.333333333333"),
        (1e-13, "0"),
        (1e21, "1000000000000000000000"),
    ] {
        assert_eq!(f64_text(value), text);
        assert_eq!(serde_json::to_value(ComputedNumber(value)).unwrap(), text);
    }
}

prop_compose! {
    /// Canonical text of an amount between 10^-12 and 10^21, of any size.
    fn amount_text()(
        whole in "[1-9][0-9]{0,20}",
        fraction in "[0-9]{0,11}[1-9]",
        form in 0..3,
    ) -> String {
        match form {
            0 => whole,
            1 => format!("0.{fraction}"),
            _ => format!("{whole}.{fraction}"),
        }
    }
}

/// The amount as a count of `10^-12`, read by hand.
fn units(text: &str) -> Digits {
    let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
    Digits::of(format!("{whole}{fraction:0<12}").parse().expect("digits"))
}

/// Digits are read nineteen at once.
#[test]
fn usage_of_any_length_survives_text() {
    let digits = "1234567890".repeat(6);
    for whole in 1..=40 {
        for fraction in 0..=18 {
            let text = if fraction == 0 {
                digits[..whole].to_owned()
            } else {
                // The last digit of each is not 0, which would not be written.
                format!("{}.{}7", &digits[..whole], &digits[..fraction - 1])
            };
            assert_eq!(text.parse::<Usage>().unwrap().to_string(), text);
            assert_eq!(format!("{}{text}", "0".repeat(5)).parse::<Usage>().unwrap().to_string(), text);
        }
    }
    // The largest that fits into 128 bits, and the next.
    for text in ["340282366920938463463.374607431768211455", "340282366920938463463.374607431768211456"] {
        assert_eq!(text.parse::<Usage>().unwrap().to_string(), text);
    }
}

proptest! {
    #![proptest_config(cases(200))]

    #[test]
    fn amounts_survive_text(text in amount_text(), zeros in 0usize..4) {
        let amount: Amount = text.parse().expect("an amount");
        prop_assert_eq!(amount.to_string(), text.clone());
        let padded = if text.contains('.') { format!("{text}{}", "0".repeat(zeros)) } else { text };
        prop_assert_eq!(padded.parse::<Amount>(), Ok(amount));
    }

    #[test]
    fn sums_of_usage_are_exact(parts in proptest::collection::vec((amount_text(), 0..10 * FOUR_WEEKS), 1..20)) {
        let usage: Usage = parts.iter().map(|(a, m)| a.parse::<Amount>().expect("an amount").for_micros(*m)).sum();
        let backwards: Usage =
            parts.iter().rev().map(|(a, m)| a.parse::<Amount>().expect("an amount").for_micros(*m)).sum();
        let exact = parts.iter().fold(Digits::of(0), |sum, (a, m)| sum.plus(&units(a).times(*m))).text(18);
        prop_assert_eq!(usage.to_string(), exact.clone());
        prop_assert_eq!(backwards, usage);
        prop_assert_eq!(exact.parse::<Usage>(), Ok(usage));
        let float: f64 = exact.parse().expect("a number");
        prop_assert!((usage.to_f64() - float).abs() <= 4.0 * f64::EPSILON * float);
    }

    #[test]
    fn scaling_rounds_half_up_once(
        text in amount_text(), micros in 0..FOUR_WEEKS, mantissa in 1u64..(1 << 53), extra in 0i32..140
    ) {
        let shift = 53 + extra;
        let usage = text.parse::<Amount>().expect("an amount").for_micros(micros);
        let scaled = usage.times(ExactFactor::new(mantissa as f64 * 2f64.powi(-shift))).rounded();
        // (usage x mantissa / 2^(shift - 1) + 1) / 2, rounding down, is rounding half up.
        let mut exact = units(&text).times(micros).times(mantissa);
        for _ in 1..shift {
            exact = exact.half();
        }
        let exact = exact.plus(&Digits::of(1)).half().text(18);
        prop_assert_eq!(scaled.to_string(), exact);
        prop_assert!(scaled <= usage);
    }

    #[test]
    fn a_sum_of_scaled_usages_is_rounded_once(
        parts in proptest::collection::vec((amount_text(), 1..FOUR_WEEKS, 0i32..60), 1..8)
    ) {
        let scaled = parts.iter().map(|(text, micros, halvings)| {
            text.parse::<Amount>().expect("an amount").for_micros(*micros).times(ExactFactor::new(0.5f64.powi(*halvings)))
        });
        let sum = scaled.reduce(|sum, part| sum + part).expect("some part").rounded();
        // All parts over 2^60, halved 59 times, then half up.
        let mut exact = parts.iter().fold(Digits::of(0), |sum, (text, micros, halvings)| {
            sum.plus(&units(text).times(*micros).times(1 << (60 - halvings)))
        });
        for _ in 1..60 {
            exact = exact.half();
        }
        prop_assert_eq!(sum.to_string(), exact.plus(&Digits::of(1)).half().text(18));
    }

    #[test]
    fn the_mean_of_a_constant_is_the_constant(text in amount_text(), micros in 1..10 * FOUR_WEEKS) {
        let amount: Amount = text.parse().expect("an amount");
        prop_assert_eq!(amount.for_micros(micros).mean_over(micros), amount);
    }

    #[test]
    fn no_text_makes_a_decimal_panic(text in "[-0-9.]{0,90}|.{0,30}") {
        let amount = text.parse::<Amount>().map(|a| a.to_string());
        let usage = text.parse::<Usage>().map(|u| u.to_string());
        for printed in amount.into_iter().chain(usage) {
            prop_assert!(text.trim_start_matches(['-', '0']).starts_with(printed.trim_start_matches('0')));
        }
    }
}

#[test]
fn multiplying_is_exact_or_refused() {
    let times = |text: &str, count| text.parse::<Amount>().ok()?.checked_mul(count).map(|a| a.to_string());
    assert_eq!(times("0.0977", 1 << 30).as_deref(), Some("104904576.2048"));
    assert_eq!(times("0.000000000001", 3).as_deref(), Some("0.000000000003"));
    assert_eq!(times("5", 0).as_deref(), Some("0"));
    assert_eq!(times("1", u64::MAX).as_deref(), Some("18446744073709551615"));
    assert_eq!(times("500000000000000000000", 2).as_deref(), Some("1000000000000000000000"));
    assert_eq!(times("500000000000000000000.000000000001", 2), None);
    assert_eq!(times("1000000000000000000000", u64::MAX), None);
}
