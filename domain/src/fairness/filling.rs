//! Water-filling: an amount is divided by weight, and a part that one claimant does not need goes to the others.

/// One of the claimants that an amount is divided among.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct WeightedClaimant {
    /// Above 0, in any unit.
    pub weight: f64,
    /// The most that the claimant needs; infinite if it takes everything it gets.
    pub limit: f64,
}

impl WeightedClaimant {
    /// The amount per weight at which the claimant has enough.
    fn full_at(&self) -> f64 {
        self.limit / self.weight
    }
}

/// Divides `total` by weight. No claimant gets more than its limit while another one needs more. If all have enough,
/// the rest is divided by weight.
pub fn fill(total: f64, claimants: &[WeightedClaimant]) -> Vec<f64> {
    let mut order: Vec<usize> = (0..claimants.len()).collect();
    if claimants.iter().any(|claimant| claimant.limit.is_finite()) {
        order.sort_by(|a, b| claimants[*a].full_at().total_cmp(&claimants[*b].full_at()));
    }
    let weights = weights_from(&order, claimants);
    let (mut filled, mut left) = (vec![0.0; claimants.len()], total);
    for (place, at) in order.iter().enumerate() {
        let WeightedClaimant { weight, limit } = claimants[*at];
        let part = left * weight / weights[place];
        if limit > part {
            // The claimants that follow have their limits even further away.
            share_out(left, weights[place], &order[place..], claimants, &mut filled);
            return filled;
        }
        filled[*at] = limit;
        left = (left - limit).max(0.0);
    }
    if let Some(all) = weights.first() {
        share_out(left, *all, &order, claimants, &mut filled);
    }
    filled
}

/// The sums of weights from each position of `order` to the end.
fn weights_from(order: &[usize], claimants: &[WeightedClaimant]) -> Vec<f64> {
    let mut sums = vec![0.0; order.len()];
    let mut sum = 0.0;
    for (place, at) in order.iter().enumerate().rev() {
        sum += claimants[*at].weight;
        sums[place] = sum;
    }
    sums
}

/// Adds to each claimant in `those` its part of `left` by weight.
fn share_out(left: f64, weights: f64, those: &[usize], claimants: &[WeightedClaimant], filled: &mut [f64]) {
    for at in those {
        filled[*at] += left * claimants[*at].weight / weights;
    }
}
