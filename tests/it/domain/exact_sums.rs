//! Sums of very many usages, each times a proportion, against slower ways to the same.

use ethnum::U256;

use fairshared::domain::decimal::{Count, Grain, Proportion, ScaledUsage, Usage, WeighedSum};

/// The grain that counts any usage.
fn finest() -> Grain {
    Grain::COARSEST.fit("0.000000000000000001".parse().expect("a legal usage"))
}

/// A usage of so many of its last digit.
fn usage(count: U256) -> Usage {
    finest().usage(Count::of(&count.to_le_bytes()))
}

#[test]
fn a_usage_is_a_count_of_the_coarsest_grain_that_has_no_rest() {
    let table = [
        // usage, how much finer than the coarsest grain, bytes
        ("0", 0, 0),
        ("0.000255", 0, 1),
        ("0.000256", 0, 2),
        ("86400", 0, 5),
        ("0.0000005", 1, 2),
        ("0.0000000001", 2, 1),
        ("0.000000000000000001", 3, 1),
        ("115792089237316195423570985008687907853269984665640564039457.584007913129639935", 3, 32),
    ];
    let mut grains = vec![Grain::COARSEST];
    for (text, finer, width) in table {
        let usage: Usage = text.parse().expect("a legal usage");
        let grain = Grain::COARSEST.fit(usage);
        if !grains.contains(&grain) {
            grains.push(grain);
        }
        assert_eq!(grains.iter().position(|known| *known == grain), Some(finer), "{text}");
        assert_eq!(grain.count(usage).width(), width, "{text}");
        let mut bytes = vec![0; width.into()];
        grain.count(usage).put(&mut bytes);
        assert_eq!(grain.usage(Count::of(&bytes)), usage);
        // A finer grain counts it, too.
        assert_eq!(finest().usage(finest().count(usage)), usage);
        assert_eq!(finest().fit(usage), finest());
    }
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
    let counts: Vec<u128> = (0..96).map(|bits| (1u128 << bits) + (1 << (bits / 2)) - 1).chain([0]).collect();
    let large = [usage(U256::from(7u8)), usage(U256::ONE << 180)];
    let powers = (0..90).flat_map(|power| [1.0, 0.3, 0.999_999].map(|part| part * 0.5f64.powi(power)));
    let factors: Vec<f64> = powers.chain([0.0, 1e-300]).collect();
    for grain in [Grain::COARSEST, finest()] {
        let of = |count: u128| grain.usage(Count::of(&count.to_le_bytes()));
        let (mut sum, mut slow) = (WeighedSum::new(grain), ScaledUsage::default());
        for count in &counts {
            let (mut alone, mut alone_slow) = (WeighedSum::new(grain), ScaledUsage::default());
            for factor in &factors {
                let part = Proportion::new(*factor);
                alone.add(*count, part);
                alone_slow = alone_slow + of(*count).times(part);
                sum.add(*count, part);
                slow = slow + of(*count).times(part);
                assert_eq!(alone.rounded(), alone_slow.rounded(), "{count} {factor}");
            }
            assert_eq!(sum.rounded(), slow.rounded(), "up to {count}");
        }
        for (usage, factor) in large.iter().flat_map(|usage| factors.iter().map(move |factor| (usage, factor))) {
            sum.add_usage(*usage, Proportion::new(*factor));
            slow = slow + usage.times(Proportion::new(*factor));
            assert_eq!(sum.rounded(), slow.rounded(), "{usage} {factor}");
        }
    }
}
