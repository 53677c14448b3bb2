//! The exponents of growth laws.

/// The exponent `e` of the law `y = c * x^e` that fits the points best: the slope of the line of least squares through their
/// logarithms.
pub fn exponent(points: &[(f64, f64)]) -> f64 {
    let logs: Vec<(f64, f64)> = points.iter().map(|(x, y)| (x.ln(), y.ln())).collect();
    let count = logs.len() as f64;
    let (x, y) = logs.iter().fold((0.0, 0.0), |(x, y), point| (x + point.0 / count, y + point.1 / count));
    let (mut upper, mut lower) = (0.0, 0.0);
    for point in &logs {
        upper += (point.0 - x) * (point.1 - y);
        lower += (point.0 - x) * (point.0 - x);
    }
    upper / lower
}
