//! Amounts from usages and back, exactly: an amount in 10^-12 times microseconds is a usage in 10^-18.

use sea_orm::DbErr;
use serde_json::{Map, Value};

const AMOUNT_DECIMALS: usize = 12;
const USAGE_DECIMALS: usize = AMOUNT_DECIMALS + 6;

/// The amounts that were held for `micros` microseconds if their usage is `usages`.
pub fn amounts(usages: &str, micros: u64) -> Result<String, DbErr> {
    each(usages, |usage| {
        let mut rest: u128 = 0;
        let mut quotient = String::new();
        for digit in fixed(usage, USAGE_DECIMALS)?.bytes() {
            let part = rest * 10 + u128::from(digit - b'0');
            quotient.push(char::from(b'0' + u8::try_from(part / u128::from(micros)).ok()?));
            rest = part % u128::from(micros);
        }
        (rest == 0).then(|| written(&quotient, AMOUNT_DECIMALS))
    })
}

/// The usage of `amounts` in `micros` microseconds.
pub fn usages(amounts: &str, micros: u64) -> Result<String, DbErr> {
    each(amounts, |amount| {
        let mut carry: u128 = 0;
        let mut product = Vec::new();
        for digit in fixed(amount, AMOUNT_DECIMALS)?.bytes().rev() {
            let part = u128::from(digit - b'0') * u128::from(micros) + carry;
            product.push(char::from(b'0' + u8::try_from(part % 10).ok()?));
            carry = part / 10;
        }
        let high = if carry > 0 { carry.to_string() } else { String::new() };
        let low: String = product.into_iter().rev().collect();
        Some(written(&(high + &low), USAGE_DECIMALS))
    })
}

fn each(slots: &str, change: impl Fn(&str) -> Option<String>) -> Result<String, DbErr> {
    let damaged = || DbErr::Custom(format!("the slot map {slots} cannot be carried over"));
    let map: Map<String, Value> = serde_json::from_str(slots).map_err(|_| damaged())?;
    let mut changed = Map::new();
    for (slot, value) in map {
        let value = value.as_str().and_then(&change).ok_or_else(damaged)?;
        changed.insert(slot, Value::String(value));
    }
    Ok(Value::Object(changed).to_string())
}

/// The digits of a decimal, with `decimals` of them after the point.
fn fixed(decimal: &str, decimals: usize) -> Option<String> {
    let (whole, fraction) = decimal.split_once('.').unwrap_or((decimal, ""));
    let legal = !whole.is_empty() && whole.bytes().chain(fraction.bytes()).all(|b| b.is_ascii_digit());
    (legal && fraction.len() <= decimals).then(|| format!("{whole}{fraction:0<decimals$}"))
}

/// A decimal from its digits, of which `decimals` are after the point, without needless zeros.
fn written(digits: &str, decimals: usize) -> String {
    let digits = format!("{digits:0>width$}", width = decimals + 1);
    let (whole, fraction) = digits.split_at(digits.len() - decimals);
    let whole = whole.trim_start_matches('0');
    let (whole, fraction) = (if whole.is_empty() { "0" } else { whole }, fraction.trim_end_matches('0'));
    if fraction.is_empty() { whole.to_owned() } else { format!("{whole}.{fraction}") }
}
