//! Amounts by slot, as connectors sum them up and the server reads them.

use std::collections::BTreeMap;

use domain::decimal::Amount;

/// Adds amounts to others.
pub fn add_amounts(sums: &mut BTreeMap<String, Amount>, amounts: &BTreeMap<String, Amount>) {
    for (slot, amount) in amounts {
        let sum = sums.entry(slot.clone()).or_insert(Amount::ZERO);
        *sum = sum.saturating_add(*amount);
    }
}

/// The amounts as the server reads them.
pub fn amount_texts(amounts: &BTreeMap<String, Amount>) -> BTreeMap<String, String> {
    amounts.iter().map(|(slot, amount)| (slot.clone(), amount.to_string())).collect()
}
