//! The loops in which a search spends most of its time, each compiled for several instruction sets.
//! The one to run is selected at run time.
//!
//! Results are bit-identical on every processor: sums use a fixed number of lanes, which are added
//! in a fixed order, and products are rounded before they are added. So a store ranks as before
//! when it moves to another machine. On x86-64, a processor with narrower instructions takes more
//! steps for the same lanes; for other architectures (ARM's NEON) the instruction set is known at
//! compile time.
//!
//! The core and `episodica-faiss` call this crate, which handles only numbers. It also allocates
//! [memory](zeroed) suited to them. `unsafe` code is limited to the calls in the macro
//! [`dispatched`], an advice to the kernel and a call of the allocator.

mod bodies;
mod level;
mod memory;

pub use level::SimdLevel;
pub use memory::{release_freed, room_for, zeroed_vec};

/// Number of lanes of floating-point sums: four registers of AVX2, two of AVX-512.
const LANES: usize = 32;

/// Number of rows of bits that are compared together: the words of one AVX-512 register.
pub const ROWS: usize = 8;

/// Defines a function from a safe body: compiles it for each level, and calls the version for the
/// processor's level. Another body, with instructions that the compiler does not use by itself, may
/// be given for the levels above `Compiled` or for the widest one.
macro_rules! dispatched {
    (
        $(#[$about:meta])*
        $name:ident($($argument:ident: $kind:ty),*) $(-> $result:ty)? = $body:path
    ) => {
        dispatched! {
            $(#[$about])*
            $name($($argument: $kind),*) $(-> $result)? = $body, avx2 $body, avx512 $body
        }
    };
    (
        $(#[$about:meta])*
        $name:ident($($argument:ident: $kind:ty),*) $(-> $result:ty)?
            = $body:path, avx2 $avx2:path, avx512 $avx512:path
    ) => {
        $(#[$about])*
        #[inline]
        pub fn $name($($argument: $kind),*) $(-> $result)? {
            $name::at(SimdLevel::of_this_processor(), $($argument),*)
        }

        mod $name {
            #[allow(unused_imports, reason = "not all kernels name them")]
            use super::*;

            #[cfg(target_arch = "x86_64")]
            #[target_feature(enable = "avx2,f16c,bmi1,bmi2,lzcnt,popcnt")]
            fn avx2($($argument: $kind),*) $(-> $result)? {
                $avx2($($argument),*)
            }

            #[cfg(target_arch = "x86_64")]
            #[target_feature(enable = "avx2,f16c,bmi1,bmi2,lzcnt,popcnt")]
            #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vpopcntdq")]
            fn avx512($($argument: $kind),*) $(-> $result)? {
                $avx512($($argument),*)
            }

            /// Calls the version for a level that the processor supports.
            #[inline]
            pub(super) fn at(level: super::SimdLevel, $($argument: $kind),*) $(-> $result)? {
                match level {
                    // SAFETY: only `SimdLevel::detect_level` returns this level, after it has
                    // detected the features.
                    #[cfg(target_arch = "x86_64")]
                    super::SimdLevel::Avx512 => unsafe { avx512($($argument),*) },
                    // SAFETY: as above.
                    #[cfg(target_arch = "x86_64")]
                    super::SimdLevel::Avx2 => unsafe { avx2($($argument),*) },
                    _ => $body($($argument),*),
                }
            }
        }
    };
}

dispatched! {
    /// Inner product of two vectors, up to the shorter length.
    inner_product(a: &[f32], b: &[f32]) -> f32 = bodies::inner_product
}

dispatched! {
    /// Inner product of `query` with each of `rows`, which are row numbers within `halves`: the
    /// bits of half-precision numbers, row by row, each row as long as `query`. Equals
    /// [`inner_product`] of the same numbers in single precision.
    half_inner_products(query: &[f32], halves: &[u16], rows: &[usize], products: &mut [f32])
        = bodies::half_inner_products,
          avx2 bodies::half_inner_products_f16c, avx512 bodies::half_inner_products_f16c
}

dispatched! {
    /// Exact inner product of two vectors of small integers, up to the shorter length.
    inner_product_i8(a: &[i8], b: &[i8]) -> i32 = bodies::inner_product_i8
}

dispatched! {
    /// Adds `scale` times `row` to `sums`.
    add_scaled(sums: &mut [f32], row: &[i8], scale: f32) = bodies::add_scaled
}

dispatched! {
    /// Counts the bits in which `query` differs from each row of `blocks`. A block contains
    /// [`ROWS`] rows: the first word of each, then the second, and so on.
    differing_bits(query: &[u64], blocks: &[u64], counts: &mut [u16])
        = bodies::differing_bits,
          avx2 bodies::differing_bits, avx512 bodies::differing_bits_of_registers
}

dispatched! {
    /// Adds to each of `counts` the number of bits in which `query` differs from the corresponding
    /// one of `rows`, which are row numbers within `words`: row by row, each row as long as
    /// `query`.
    add_differing_bits(query: &[u64], words: &[u64], rows: &[usize], counts: &mut [u16])
        = bodies::add_differing_bits
}

dispatched! {
    /// Sets one bit for each of `values` that is at least `least`: 64 per word, from the lowest
    /// bit. Ignores values after the last multiple of 64.
    no_less(values: &[f32], least: f32, bits: &mut [u64]) = bodies::no_less
}

dispatched! {
    /// Sets one bit for each of `counts` that is at most `most`: 64 per word, from the lowest bit.
    /// Ignores counts after the last multiple of 64.
    no_greater(counts: &[u16], most: u16, bits: &mut [u64]) = bodies::no_greater
}

/// Positions of the set bits, ascending.
#[inline]
pub fn bits_of(words: &[u64]) -> impl Iterator<Item = usize> {
    words.iter().zip((0..).step_by(64)).flat_map(|(word, first)| {
        let mut left = *word;
        std::iter::from_fn(move || {
            let bit = (left != 0).then(|| left.trailing_zeros() as usize)?;
            left &= left - 1;
            Some(first + bit)
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// All levels that this processor has.
    fn levels() -> impl Iterator<Item = SimdLevel> {
        let most = SimdLevel::of_this_processor();
        [SimdLevel::Compiled, SimdLevel::Avx2, SimdLevel::Avx512]
            .into_iter()
            .filter(move |level| *level <= most)
    }

    /// Odd numbers between -1 and 1.
    fn numbers(seed: u32, count: usize) -> Vec<f32> {
        let mut state = seed;
        let mut next = || {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (state >> 8) as f32 / (1 << 23) as f32 - 1.0
        };
        (0..count).map(|_| next()).collect()
    }

    #[test]
    fn every_level_gives_the_same_bits() {
        for length in [0, 1, 7, 31, 32, 33, 63, 64, 65, 255, 256, 384, 385, 1_000] {
            let (a, b) = (numbers(1, length), numbers(2, length));
            let exact: f64 = a.iter().zip(&b).map(|(a, b)| f64::from(*a) * f64::from(*b)).sum();
            let compiled = inner_product::at(SimdLevel::Compiled, &a, &b);
            assert!((f64::from(compiled) - exact).abs() < 1e-4, "{length}: {compiled} {exact}");
            for level in levels() {
                let product = inner_product::at(level, &a, &b);
                assert_eq!(product.to_bits(), compiled.to_bits(), "{level:?} {length}");
            }
        }
    }

    /// Finite numbers in half precision, of all sizes.
    fn halves(count: usize) -> Vec<u16> {
        let bits = numbers(6, count).into_iter().map(|number| (number * 32_768.0) as i16 as u16);
        bits.map(|bits| if bits & 0x7c00 == 0x7c00 { bits & 0xbfff } else { bits }).collect()
    }

    #[test]
    fn products_with_halves_have_the_bits_of_those_with_the_same_numbers() {
        for length in [1, 7, 8, 31, 32, 33, 255, 256, 384, 385] {
            let (query, rows) = (numbers(7, length), halves(5 * length));
            let singles: Vec<f32> = rows.iter().copied().map(bodies::half_to_single).collect();
            let chosen = [4, 0, 3, 3];
            let expected = chosen.map(|row| inner_product(&query, &singles[row * length..]));
            for level in levels() {
                let mut products = [0.0; 4];
                half_inner_products::at(level, &query, &rows, &chosen, &mut products);
                assert_eq!(products.map(f32::to_bits), expected.map(f32::to_bits), "{level:?}");
            }
        }
    }

    #[test]
    fn every_half_is_converted_exactly() {
        for half in 0..=u16::MAX {
            let (exponent, fraction) = (i32::from(half >> 10 & 31), f32::from(half & 0x3ff));
            let size = match exponent {
                0 => fraction * 2_f32.powi(-24),
                31 if fraction > 0.0 => f32::NAN,
                31 => f32::INFINITY,
                _ => (1.0 + fraction / 1_024.0) * 2_f32.powi(exponent - 15),
            };
            let number = if half >> 15 == 0 { size } else { -size };
            let converted = bodies::half_to_single(half);
            assert!(
                converted.to_bits() == number.to_bits() || number.is_nan() && converted.is_nan(),
                "{half:#06x}: {converted} {number}"
            );
        }
    }

    #[test]
    fn a_product_has_the_bits_that_were_written_down_on_another_processor() {
        let (a, b) = (numbers(3, 256), numbers(4, 256));
        assert_eq!(inner_product(&a, &b).to_bits(), 0xc00d_bd98);
    }

    #[test]
    fn of_different_lengths_the_shorter_counts() {
        assert_eq!(inner_product(&[1.0, 2.0, 3.0], &[4.0, 5.0]), 14.0);
        assert_eq!(inner_product(&[2.0], &[4.0, 5.0]), 8.0);
        assert_eq!(inner_product_i8(&[1, 2, 3], &[4, 5]), 14);
    }

    #[test]
    fn products_of_whole_numbers_are_exact() {
        for length in [0, 1, 31, 32, 40, 256] {
            let a: Vec<i8> = (0..length).map(|at| (at * 37 % 256) as u8 as i8).collect();
            let b: Vec<i8> = (0..length).map(|at| (at * 91 % 256) as u8 as i8).collect();
            let exact = a.iter().zip(&b).map(|(a, b)| i32::from(*a) * i32::from(*b)).sum::<i32>();
            for level in levels() {
                assert_eq!(inner_product_i8::at(level, &a, &b), exact, "{level:?} {length}");
            }
        }
        assert_eq!(inner_product_i8(&[-128; 256], &[-128; 256]), 256 * 16_384);
    }

    #[test]
    fn rows_are_added_with_the_same_bits() {
        let row: Vec<i8> = (0..259_i32).map(|at| (at * 37 % 256) as u8 as i8).collect();
        let mut expected = numbers(5, 259);
        bodies::add_scaled(&mut expected, &row, 0.0137);
        for level in levels() {
            let mut sums = numbers(5, 259);
            add_scaled::at(level, &mut sums, &row, 0.0137);
            assert_eq!(sums, expected, "{level:?}");
        }
    }

    #[test]
    fn bits_that_differ_are_counted_for_rows_of_any_width() {
        for width in [1, 2, 4, 5, 6, 8] {
            let words = |from: u64, count: usize| -> Vec<u64> {
                (0..count as u64)
                    .map(|at| (from + at).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(17))
                    .collect()
            };
            let (query, rows) = (words(1, width), words(9, 2 * ROWS * width));
            let blocks: Vec<u64> = rows
                .chunks_exact(ROWS * width)
                .flat_map(|block| {
                    (0..block.len()).map(move |at| (at % ROWS * width + at / ROWS, block))
                })
                .map(|(at, block)| block[at])
                .collect();
            let expected: Vec<u16> = rows
                .chunks_exact(width)
                .map(|row| {
                    let bits = |(a, b): (&u64, &u64)| {
                        (0..64).filter(|bit| (a >> bit) & 1 != (b >> bit) & 1).count() as u16
                    };
                    row.iter().zip(&query).map(bits).sum()
                })
                .collect();
            for level in levels() {
                let mut counts = vec![0; 2 * ROWS];
                differing_bits::at(level, &query, &blocks, &mut counts);
                assert_eq!(counts, expected, "{level:?} {width}");
            }
        }
    }

    #[test]
    fn bits_that_differ_are_added_for_chosen_rows() {
        for width in [1, 2, 3, 6] {
            let words = |from: u64, count: usize| -> Vec<u64> {
                (0..count as u64)
                    .map(|at| (from + at).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(23))
                    .collect()
            };
            let (query, rows) = (words(3, width), words(40, 9 * width));
            let differing = |row: &usize| -> u16 {
                let words = rows[row * width..].iter().zip(&query);
                words.map(|(word, query)| (word ^ query).count_ones() as u16).sum()
            };
            let chosen = [8, 0, 5, 5];
            let expected: Vec<u16> = chosen.iter().map(|row| 7 + differing(row)).collect();
            for level in levels() {
                let mut counts = [7; 4];
                add_differing_bits::at(level, &query, &rows, &chosen, &mut counts);
                assert_eq!(counts[..], expected, "{level:?} {width}");
            }
        }
    }

    #[test]
    fn comparisons_give_a_bit_for_each_value() {
        let values: Vec<f32> =
            (0..200_u32).map(|at| (at.wrapping_mul(2_654_435_761) >> 24) as f32).collect();
        let counts: Vec<u16> = values.iter().map(|value| *value as u16).collect();
        let places = |holds: &dyn Fn(f32) -> bool| -> Vec<usize> {
            (0..192).filter(|at| holds(values[*at])).collect()
        };
        for level in levels() {
            let mut bits = [u64::MAX; 3];
            no_less::at(level, &values, 128.0, &mut bits);
            assert_eq!(bits_of(&bits).collect::<Vec<_>>(), places(&|value| value >= 128.0));
            no_greater::at(level, &counts, 40, &mut bits);
            assert_eq!(bits_of(&bits).collect::<Vec<_>>(), places(&|value| value <= 40.0));
            no_less::at(level, &[f32::NAN; 64], f32::NEG_INFINITY, &mut bits);
            assert_eq!(bits[0], 0, "{level:?}");
        }
    }
}
