//! Integer arithmetic without rounding: products of 128-bit numbers are compared and divided in 256 bits.

use std::cmp::{Ordering, Reverse};
use std::ops::Rem;

use ethnum::U256;

/// `a * b / c` rounded down, and the remainder; (0, 0) for `c` = 0. The quotient saturates.
pub fn mul_div(a: u128, b: u128, c: u128) -> (u128, u128) {
    if c == 0 {
        return (0, 0);
    }
    if let Some(product) = a.checked_mul(b) {
        // The remainder is computed from the quotient, because a second division would cost as much as the first.
        let quotient = match (u64::try_from(product), u64::try_from(c)) {
            (Ok(product), Ok(c)) => u128::from(product / c),
            _ => product / c,
        };
        return (quotient, product - quotient * c);
    }
    let product = U256::from(a) * U256::from(b);
    let quotient = product / U256::from(c);
    let rest = product - quotient * U256::from(c);
    (u128::try_from(quotient).unwrap_or(u128::MAX), rest.as_u128())
}

/// The greatest common divisor; 0 is divisible by everything. Generic, because 64-bit division is ten times as fast as
/// 128-bit division.
pub fn greatest_common_divisor<T: Copy + Default + PartialEq + Rem<Output = T>>(mut a: T, mut b: T) -> T {
    while b != T::default() {
        (a, b) = (b, a % b);
    }
    a
}

/// `a * b / c` rounded up.
pub fn mul_div_up(a: u128, b: u128, c: u128) -> u128 {
    let (quotient, rest) = mul_div(a, b, c);
    quotient.saturating_add(u128::from(rest > 0))
}

/// Compares `a * b` with `c * d`.
pub fn cmp_products(a: u128, b: u128, c: u128, d: u128) -> Ordering {
    match (a.checked_mul(b), c.checked_mul(d)) {
        (Some(left), Some(right)) => left.cmp(&right),
        (Some(_), None) => Ordering::Less,
        (None, Some(_)) => Ordering::Greater,
        (None, None) => (U256::from(a) * U256::from(b)).cmp(&(U256::from(c) * U256::from(d))),
    }
}

/// Divides `total` in proportion to `weights`. The parts are integers and add up to `total`: what rounding down leaves
/// goes one by one to the largest remainders, and equal remainders are ordered by `first`. Without any weight all parts
/// are 0.
pub fn apportion(total: u128, weights: &[u128], first: impl Fn(usize, usize) -> Ordering) -> Vec<u128> {
    let sum = weights.iter().fold(0u128, |sum, w| sum.saturating_add(*w));
    let mut parts = Vec::with_capacity(weights.len());
    if sum == 0 {
        parts.resize(weights.len(), 0);
        return parts;
    }
    let (mut remainders, mut left) = (Vec::with_capacity(weights.len()), total);
    for (at, weight) in weights.iter().enumerate() {
        let (part, remainder) = mul_div(total, *weight, sum);
        parts.push(part);
        left = left.saturating_sub(part);
        if remainder > 0 {
            remainders.push((Reverse(remainder), at));
        }
    }
    let order = |a: &(Reverse<u128>, usize), b: &(Reverse<u128>, usize)| a.0.cmp(&b.0).then_with(|| first(a.1, b.1));
    for (_, at) in first_of(&mut remainders, left, order) {
        parts[*at] += 1;
    }
    parts
}

/// The first `count` entries by `order`, themselves in any order.
pub fn first_of<K>(
    entries: &mut [(K, usize)],
    count: u128,
    order: impl Fn(&(K, usize), &(K, usize)) -> Ordering,
) -> &[(K, usize)] {
    let count = usize::try_from(count).unwrap_or(usize::MAX).min(entries.len());
    if (1..entries.len()).contains(&count) {
        entries.select_nth_unstable_by(count - 1, order);
    }
    &entries[..count]
}
