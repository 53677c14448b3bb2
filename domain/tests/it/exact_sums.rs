//! Usages times a proportion: their sums are exact until they are rounded.

use ethnum::U256;

use domain::decimal::{ExactFactor, Usage};

/// A usage of `count` times its last digit, which is the eighteenth after the point.
fn usage(count: U256) -> Usage {
    let unit = U256::from(10u128.pow(18));
    format!("{}.{:018}", count / unit, (count % unit).as_u128()).parse().expect("a legal usage")
}

#[test]
fn small_numbers_are_scaled_as_large_ones_are() {
    // Scaling is exact, so that it does not matter what was added before.
    let large = usage(U256::ONE << 140);
    let numbers = (0..127).map(|bits| (1u128 << bits) + (1 << (bits / 2)) - 1).chain([(1 << 127) - 1]);
    let factors = (0..77).flat_map(|power| [0.5, 0.3, 0.999_999].map(|part| part * 0.5f64.powi(power)));
    for factor in factors {
        let part = ExactFactor::new(factor);
        for number in numbers.clone() {
            let small = usage(U256::from(number));
            assert_eq!((small + large).times(part), small.times(part) + large.times(part), "{number} {factor}");
        }
    }
}
