//! Sums of very many usages, each times a proportion, against slower ways to the same.

use ethnum::U256;

use fairshared::domain::decimal::{Number, Proportion, ScaledUsage, Usage, WeighedSum};

/// A usage of so many of its last digit.
fn usage(count: U256) -> Usage {
    let bytes = [&[32], &count.to_le_bytes()[..]].concat();
    Number::take_bytes(&mut &bytes[..]).usage()
}

#[test]
fn small_numbers_are_scaled_as_large_ones_are() {
    // Scaling is exact, so that it does not matter what was added before.
    let large = usage(U256::ONE << 140);
    let numbers = (0..127).map(|bits| (1u128 << bits) + (1 << (bits / 2)) - 1).chain([(1 << 127) - 1]);
    let factors = (0..77).flat_map(|power| [0.5, 0.3, 0.999_999].map(|part| part * 0.5f64.powi(power)));
    for factor in factors {
        let part = Proportion::new(factor);
        for number in numbers.clone() {
            let small = usage(U256::from(number));
            assert_eq!((small + large).times(part), small.times(part) + large.times(part), "{number} {factor}");
        }
    }
}

#[test]
fn the_sum_is_that_of_the_numbers_scaled_one_by_one() {
    let numbers = (0..110).map(|bits| Number::Micros((1u128 << bits) + (1 << (bits / 2)) - 1));
    let others = [Number::Micros(0), Number::Other(usage(U256::from(7u8))), Number::Other(usage(U256::ONE << 180))];
    let numbers: Vec<Number> = numbers.chain(others).collect();
    let powers = (0..90).flat_map(|power| [1.0, 0.3, 0.999_999].map(|part| part * 0.5f64.powi(power)));
    let factors: Vec<f64> = powers.chain([0.0, 1e-300]).collect();
    let (mut sum, mut slow) = (WeighedSum::default(), ScaledUsage::default());
    for (at, number) in numbers.iter().enumerate() {
        let (mut alone, mut alone_slow) = (WeighedSum::default(), ScaledUsage::default());
        for factor in &factors {
            alone.add(*number, Proportion::new(*factor));
            alone_slow = alone_slow + number.usage().times(Proportion::new(*factor));
            sum.add(*number, Proportion::new(*factor));
            slow = slow + number.usage().times(Proportion::new(*factor));
            assert_eq!(alone.rounded(), alone_slow.rounded(), "{number:?} {factor}");
        }
        assert_eq!(sum.rounded(), slow.rounded(), "the first {at}");
    }
}
