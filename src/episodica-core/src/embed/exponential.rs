//! The exponential function without branches and calls, so that the compiler vectorises the loops
//! in which it is used.

use std::f32::consts::LOG2_E;

/// `e^x` with a relative error below 2e-7; `x` is limited to [-87, 88], where the result is normal.
#[inline]
pub(super) fn exponential(x: f32) -> f32 {
    // Adding and subtracting it rounds a small number to a whole one, which then is in its lowest
    // bits.
    const ROUNDING: f32 = 12_582_912.0;
    // ln 2 in two parts, the first with so few bits that its products are exact.
    const LN_2: [f32; 2] = [0.693_359_4, -2.121_944_4e-4];
    // e^x = 2^n · e^rest with |rest| <= ln 2 / 2; then Maclaurin's series.
    let x = x.clamp(-87.0, 88.0);
    let shifted = x * LOG2_E + ROUNDING;
    let n = shifted - ROUNDING;
    let rest = x - n * LN_2[0] - n * LN_2[1];
    let series = [1.0 / 5040.0, 1.0 / 720.0, 1.0 / 120.0, 1.0 / 24.0, 1.0 / 6.0, 0.5, 1.0, 1.0];
    let power = f32::from_bits((shifted.to_bits() << 23).wrapping_add(127 << 23));
    series.iter().fold(0.0, |sum, factor| sum * rest + factor) * power
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_equals_the_exponential_function() {
        for step in -87_000..=88_000 {
            let x = step as f32 / 1000.0;
            let expected = f64::from(x).exp();
            let error = (f64::from(exponential(x)) - expected) / expected;
            assert!(error.abs() < 2e-7, "{x}: {error}");
        }
        assert_eq!(exponential(0.0), 1.0);
        assert_eq!(exponential(-1e9), exponential(-87.0));
        assert_eq!(exponential(f32::INFINITY), exponential(88.0));
        assert!(exponential(f32::NAN).is_nan());
    }
}
