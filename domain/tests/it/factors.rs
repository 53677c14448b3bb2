//! Weights, factors and ranks (FAIR_SHARE §7), and the exponent that orders (FAIR_SHARE §2).

use domain::decimal::f64_text;
use domain::factor::{Exponent, fair_share_factor};
use domain::weight::{EffectiveWeight, Weight, deserialize_nullable_text};
use proptest::prelude::*;
use serde::Deserialize;

use crate::support::{cases, close, own, weight};

fn exponent_of(exponent: Exponent) -> f64 {
    f64::from_bits(exponent.sort_key()) / 1e12
}

#[test]
fn the_proposals_rows() {
    let table = [
        // The proposal prints 0.94574160838 here; 2^(-0.15/2.0) is 0.949342.
        (0.15, "2.0", "0.949342120951"),
        (0.25, "1.5", "0.890898718140"),
        (0.10, "1.0", "0.933032991537"),
        (10.0, "2", "0.031250000000"),
        (10.0, "1", "0.000976562500"),
        (0.0, "1", "1.000000000000"),
        (1.0, "1", "0.500000000000"),
    ];
    for (usage, share, expected) in table {
        let factor = fair_share_factor(usage, own(share));
        assert_eq!(format!("{factor:.12}"), expected, "2^(-{usage}/{share})");
        // The printed factor follows from the printed values.
        let shown: f64 = f64_text(factor).parse().expect("a number");
        assert!((shown - (-usage / own(share).to_f64()).exp2()).abs() < 1e-12);
    }
    assert_eq!(fair_share_factor(10.0, own("2")).to_bits(), 2f64.powi(-5).to_bits());
    assert_eq!(fair_share_factor(10.0, own("1")).to_bits(), 2f64.powi(-10).to_bits());
}

#[test]
fn effective_weight_is_the_product_down_the_hierarchy() {
    for (domain, project, user, product) in [
        ("2", "3", "2", "12"),
        ("2", "3", "1", "6"),
        ("1", "1", "1", "1"),
        ("0.5", "0.25", "4.0", "0.5"),
        ("0.0001", "0.0001", "0.0001", "0.000000000001"),
        ("999999.9999", "999999.9999", "999999.9999", "999999999700000000.029999999999"),
    ] {
        let effective = EffectiveWeight::product(weight(domain), weight(project), weight(user));
        assert_eq!(effective.to_string(), product);
        assert!(effective.to_f64() > 0.0 && effective.to_f64().is_finite());
    }
    assert_eq!(own("1.5").to_string(), "1.5");
}

#[test]
fn legal_weights() {
    for (text, printed) in
        [("1.0", "1"), ("0.0001", "0.0001"), ("999999.9999", "999999.9999"), ("2.5000000", "2.5"), ("007", "7")]
    {
        let legal = Weight::parse(text).expect(text);
        assert_eq!(legal.to_string(), printed);
        assert_eq!(Weight::from_ten_thousandths(legal.ten_thousandths()), Some(legal));
    }
    for (text, reason) in [
        ("0", "must be above 0"),
        ("-0", "must be above 0"),
        ("0.0000", "must be above 0"),
        ("-1", "must not be negative"),
        ("1.00001", "has more than 4 decimals"),
        ("0.00001", "has more than 4 decimals"),
        ("1000000", "is too large"),
        ("999999.99991", "has more than 4 decimals"),
        ("99999999999999999999999999999999999999999999999999999999999", "is too large"),
        ("NaN", "is not a decimal number"),
        ("inf", "is not a decimal number"),
        ("1e2", "is not a decimal number"),
        ("", "is not a decimal number"),
    ] {
        let refused = Weight::parse(text).expect_err(text).to_string();
        assert!(refused.starts_with(reason), "{text}: {refused}");
        assert!(refused.contains("at most 999999.9999"), "{refused}");
    }
    for stored in [i64::MIN, -1, 0, 10_000_000_000, i64::MAX] {
        assert_eq!(Weight::from_ten_thousandths(stored), None);
    }
}

#[test]
fn a_weight_may_be_text_number_or_null() {
    #[derive(Deserialize)]
    struct Body {
        #[serde(deserialize_with = "deserialize_nullable_text")]
        weight: Option<String>,
    }
    for (json, text) in [("\"2.50\"", Some("2.50")), ("2.5", Some("2.5")), ("3", Some("3")), ("null", None)] {
        let body: Body = serde_json::from_str(&format!("{{\"weight\": {json}}}")).expect(json);
        assert_eq!(body.weight.as_deref(), text);
    }
    assert!(serde_json::from_str::<Body>("{}").is_err(), "absent is not null");
    assert!(serde_json::from_str::<Body>("{\"weight\": true}").is_err());
    assert!(serde_json::from_str::<Weight>("0").is_err());
    assert_eq!(serde_json::from_str::<Weight>("1.5").ok(), Some(weight("1.5")));
}

#[test]
fn order_is_decided_where_factors_tie() {
    let exponent = |usage| Exponent::new(usage, own("1"));
    // Heavy users all show 0, and light ones all 1; the exponents still differ.
    for (less, more) in [(2000.0, 4000.0), (1e-12, 2e-12)] {
        let shown = [less, more].map(|usage| f64_text(fair_share_factor(usage, own("1"))));
        assert_eq!(shown[0], shown[1]);
        assert!(exponent(less) < exponent(more));
        assert!(exponent(less).sort_key() < exponent(more).sort_key());
    }
    // Below 10^-12 exponents count as equal, so that noise of sums decides nothing.
    assert_eq!(exponent(0.1 + 0.2), exponent(0.3));
    assert_eq!(exponent(1e-13), Exponent::ZERO);
    assert_eq!(exponent(0.0), Exponent::ZERO);
}

/// Usage from nothing to far above any cluster.
fn usage() -> impl Strategy<Value = f64> {
    prop_oneof![Just(0.0), 0.0..2.0, (-20.0..60.0).prop_map(|magnitude: f64| 10f64.powf(magnitude))]
}

fn any_weight() -> impl Strategy<Value = Weight> {
    prop_oneof![1i64..=20_000, 1i64..=9_999_999_999]
        .prop_map(|value| Weight::from_ten_thousandths(value).expect("in range"))
}

prop_compose! {
    fn hierarchy()(domain in any_weight(), project in any_weight(), user in any_weight()) -> EffectiveWeight {
        EffectiveWeight::product(domain, project, user)
    }
}

proptest! {
    #![proptest_config(cases(300))]

    #[test]
    fn weights_survive_text(weight in any_weight()) {
        prop_assert_eq!(Weight::parse(&weight.to_string()), Ok(weight));
    }

    #[test]
    fn factors_stay_between_zero_and_one(usage in usage(), effective in hierarchy()) {
        let factor = fair_share_factor(usage, effective);
        prop_assert!((0.0..=1.0).contains(&factor));
        prop_assert!(exponent_of(Exponent::new(usage, effective)).is_finite());
        let shown: f64 = f64_text(factor).parse().expect("a number");
        prop_assert!((0.0..=1.0).contains(&shown) && (shown - factor).abs() <= 0.5e-12 * (1.0 + 1e-3));
    }

    #[test]
    fn more_usage_never_comes_first_and_more_weight_never_last(
        a in usage(), b in usage(), light in any_weight(), heavy in any_weight()
    ) {
        let (less, more) = (a.min(b), a.max(b));
        let (light, heavy) = (EffectiveWeight::single(light.min(heavy)), EffectiveWeight::single(light.max(heavy)));
        prop_assert!(Exponent::new(less, light) <= Exponent::new(more, light));
        prop_assert!(fair_share_factor(less, light) >= fair_share_factor(more, light));
        prop_assert!(Exponent::new(a, heavy) <= Exponent::new(a, light));
        prop_assert!(fair_share_factor(a, heavy) >= fair_share_factor(a, light));
    }

    #[test]
    fn scaling_every_weight_scales_every_exponent(
        usages in proptest::collection::vec(0.0f64..100.0, 2..20),
        weights in proptest::collection::vec(1i64..1_000_000, 20), scale in 2i64..9_999
    ) {
        let of = |value: i64| EffectiveWeight::single(Weight::from_ten_thousandths(value).expect("in range"));
        let pairs: Vec<(f64, f64)> = usages.iter().zip(&weights).map(|(usage, weight)| {
            let one = exponent_of(Exponent::new(*usage, of(*weight)));
            (one, exponent_of(Exponent::new(*usage, of(weight * scale))))
        }).collect();
        for (one, scaled) in &pairs {
            prop_assert!((one / scale as f64 - scaled).abs() <= 1e-12 + 1e-12 * scaled, "{one} {scaled}");
        }
        // And so leaves the order as it was.
        for (one, scaled) in &pairs {
            for (other, other_scaled) in &pairs {
                prop_assert!(one > other || scaled <= other_scaled);
            }
        }
    }

    #[test]
    fn shown_usage_and_weight_give_the_factor(usage in 0.0f64..100.0, effective in 1i64..1_000_000) {
        let effective = EffectiveWeight::single(Weight::from_ten_thousandths(effective * 10_000).unwrap_or(Weight::MAX));
        let (uh, share): (f64, f64) =
            (f64_text(usage).parse().expect("a number"), effective.to_string().parse().expect("a number"));
        prop_assert!(close(fair_share_factor(usage, effective), (-(uh / share)).exp2()));
    }
}
