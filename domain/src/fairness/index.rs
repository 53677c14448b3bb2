//! Jain's index, which measures as one number how equal values are.

/// `(sum x)^2 / (n * sum x^2)` of non-negative values: 1 if all are equal, 1/n if one has everything, and 0 without
/// values.
pub fn jains_index(figures: impl IntoIterator<Item = f64>) -> f64 {
    let (mut count, mut sum, mut squares) = (0u32, 0.0, 0.0);
    for figure in figures {
        count += 1;
        sum += figure;
        squares += figure * figure;
    }
    match count {
        0 => 0.0,
        _ if squares == 0.0 => 1.0,
        count => (sum * sum / (f64::from(count) * squares)).min(1.0),
    }
}
