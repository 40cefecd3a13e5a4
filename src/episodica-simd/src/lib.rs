//! The loops that most of a search is spent in, each compiled for several kinds of processor; which
//! one runs is decided at run time.
//!
//! Everything gives the same bits on every processor: sums run in a fixed number of lanes, which
//! are added in a fixed order, and a product is rounded before it is added. So a store that moves
//! from one machine to another ranks as before. A processor without the wider instructions of
//! x86-64 needs more steps for the same lanes; others (ARM's NEON) are known when the code is
//! compiled.
//!
//! Core and `episodica-faiss` call it. It knows numbers only. It also asks for [memory](zeroed)
//! that suits them. `unsafe` are the calls in the macro [`dispatched`], a hint to the processor and
//! one to the kernel.

mod level;
mod memory;

pub use level::Level;
pub use memory::zeroed;

/// Sums of floating-point products run in so many lanes: four registers of AVX2, two of AVX-512.
const LANES: usize = 32;

/// Rows of bits that are compared together: words of one register of AVX-512.
pub const ROWS: usize = 8;

/// Makes a function out of a safe body: compiled for each level, called at the processor's. A body
/// with instructions that the compiler does not find by itself may be named for the levels above.
macro_rules! dispatched {
    (
        $(#[$about:meta])*
        $name:ident($($argument:ident: $kind:ty),*) $(-> $result:ty)? = $body:path
    ) => {
        dispatched! {
            $(#[$about])*
            $name($($argument: $kind),*) $(-> $result)? = $body, above $body
        }
    };
    (
        $(#[$about:meta])*
        $name:ident($($argument:ident: $kind:ty),*) $(-> $result:ty)?
            = $body:path, above $above:path
    ) => {
        $(#[$about])*
        #[inline]
        pub fn $name($($argument: $kind),*) $(-> $result)? {
            $name::at(Level::of_this_processor(), $($argument),*)
        }

        mod $name {
            #[allow(unused_imports, reason = "not all kernels name them")]
            use super::*;

            #[cfg(target_arch = "x86_64")]
            #[target_feature(enable = "avx2,f16c,bmi1,bmi2,lzcnt,popcnt")]
            fn avx2($($argument: $kind),*) $(-> $result)? {
                $above($($argument),*)
            }

            #[cfg(target_arch = "x86_64")]
            #[target_feature(enable = "avx2,f16c,bmi1,bmi2,lzcnt,popcnt")]
            #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vpopcntdq")]
            fn avx512($($argument: $kind),*) $(-> $result)? {
                $above($($argument),*)
            }

            /// At a level that the processor has.
            #[inline]
            pub(super) fn at(level: super::Level, $($argument: $kind),*) $(-> $result)? {
                match level {
                    // SAFETY: only `Level::ask` makes this level, after it found the features.
                    #[cfg(target_arch = "x86_64")]
                    super::Level::Avx512 => unsafe { avx512($($argument),*) },
                    // SAFETY: as above.
                    #[cfg(target_arch = "x86_64")]
                    super::Level::Avx2 => unsafe { avx2($($argument),*) },
                    _ => $body($($argument),*),
                }
            }
        }
    };
}

dispatched! {
    /// The inner product of two vectors; of the shorter length where they differ.
    inner_product(a: &[f32], b: &[f32]) -> f32 = bodies::inner_product
}

dispatched! {
    /// The inner product of `query` with each of `rows`, which are numbers of rows of `halves`: the
    /// bits of numbers in half precision, row after row, each row as long as `query`. What
    /// [`inner_product`] gives for the same numbers in single precision.
    half_inner_products(query: &[f32], halves: &[u16], rows: &[usize], products: &mut [f32])
        = bodies::half_inner_products, above bodies::half_inner_products_f16c
}

dispatched! {
    /// The inner product of two vectors of small whole numbers, exactly; of the shorter length
    /// where they differ.
    inner_product_i8(a: &[i8], b: &[i8]) -> i32 = bodies::inner_product_i8
}

dispatched! {
    /// Adds `scale` times `row` to `sums`.
    add_scaled(sums: &mut [f32], row: &[i8], scale: f32) = bodies::add_scaled
}

dispatched! {
    /// In how many bits `query` differs from each row of `blocks`: a block has [`ROWS`] rows, first
    /// the first word of each, then the second.
    differing_bits(query: &[u64], blocks: &[u64], counts: &mut [u16]) = bodies::differing_bits
}

dispatched! {
    /// Adds to each of `counts` in how many bits `query` differs from one of `rows`, which are numbers
    /// of rows of `words`: row after row, each row as long as `query`.
    add_differing_bits(query: &[u64], words: &[u64], rows: &[usize], counts: &mut [u16])
        = bodies::add_differing_bits
}

dispatched! {
    /// Which of the `values` are no less than `least`: one bit each, 64 to a word, from the lowest on.
    /// Values behind the last whole 64 are left out.
    no_less(values: &[f32], least: f32, bits: &mut [u64]) = bodies::no_less
}

dispatched! {
    /// Which of the `counts` are no greater than `most`: one bit each, 64 to a word, from the lowest on.
    /// Counts behind the last whole 64 are left out.
    no_greater(counts: &[u16], most: u16, bits: &mut [u64]) = bodies::no_greater
}

/// The places of the bits that are set, in rising order.
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

/// What is compiled for each level: safe code that the compiler turns into vectors.
mod bodies {
    use super::{LANES, ROWS};

    /// How many rows ahead memory is asked for.
    const AHEAD: usize = 8;
    /// Numbers in half precision in a line of the caches.
    #[cfg(target_arch = "x86_64")]
    const LINE: usize = 32;

    #[inline(always)]
    pub(super) fn inner_product(a: &[f32], b: &[f32]) -> f32 {
        let (a, b) = (&a[..a.len().min(b.len())], &b[..b.len().min(a.len())]);
        let ((a, a_rest), (b, b_rest)) = (a.as_chunks::<LANES>(), b.as_chunks::<LANES>());
        let mut sums = [0.0_f32; LANES];
        for (a, b) in a.iter().zip(b) {
            add_products(&mut sums, a, b);
        }
        if !a_rest.is_empty() {
            add_products(&mut sums, &filled_up(a_rest), &filled_up(b_rest));
        }
        total(sums)
    }

    #[inline(always)]
    fn add_products(sums: &mut [f32; LANES], a: &[f32; LANES], b: &[f32; LANES]) {
        for lane in 0..LANES {
            sums[lane] += a[lane] * b[lane];
        }
    }

    /// Fewer than [`LANES`] numbers, with zeros behind them.
    #[inline(always)]
    fn filled_up<T: Copy + Default>(rest: &[T]) -> [T; LANES] {
        let mut all = [T::default(); LANES];
        all[..rest.len()].copy_from_slice(rest);
        all
    }

    #[inline(always)]
    fn total(mut sums: [f32; LANES]) -> f32 {
        let mut half = LANES / 2;
        while half > 0 {
            for lane in 0..half {
                sums[lane] += sums[lane + half];
            }
            half /= 2;
        }
        sums[0]
    }

    #[inline(always)]
    pub(super) fn half_inner_products(
        query: &[f32],
        halves: &[u16],
        rows: &[usize],
        products: &mut [f32],
    ) {
        products_of_halves(query, halves, rows, products, |_| (), |eight| eight.map(single));
    }

    /// With the processor's own conversion, which every level above has.
    #[cfg(target_arch = "x86_64")]
    #[inline]
    #[target_feature(enable = "avx,f16c")]
    pub(super) fn half_inner_products_f16c(
        query: &[f32],
        halves: &[u16],
        rows: &[usize],
        products: &mut [f32],
    ) {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch, _mm256_cvtph_ps};
        let fetch = |row: &[u16]| {
            for line in row.chunks(LINE) {
                #[allow(unused_unsafe, reason = "safe in newer versions of the compiler")]
                // SAFETY: a hint reads nothing, and would be sound for any address.
                unsafe {
                    _mm_prefetch::<_MM_HINT_T0>(line.as_ptr().cast())
                };
            }
        };
        products_of_halves(query, halves, rows, products, fetch, |eight| {
            bytemuck::cast(_mm256_cvtph_ps(bytemuck::cast(eight)))
        });
    }

    /// Converts each row, which is exact, and multiplies as [`inner_product`] does. `fetch` is told
    /// of rows ahead: they lie anywhere, so the processor alone begins to read one too late.
    #[inline(always)]
    fn products_of_halves(
        query: &[f32],
        halves: &[u16],
        rows: &[usize],
        products: &mut [f32],
        fetch: impl Fn(&[u16]),
        convert: impl Fn([u16; 8]) -> [f32; 8],
    ) {
        let convert = |halves: &[u16; LANES]| -> [f32; LANES] {
            let mut numbers = [0.0; LANES];
            for (numbers, halves) in
                numbers.as_chunks_mut::<8>().0.iter_mut().zip(halves.as_chunks::<8>().0)
            {
                *numbers = convert(*halves);
            }
            numbers
        };
        let (chunks, rest) = query.as_chunks::<LANES>();
        let row_of = |row: usize| &halves[row * query.len()..][..query.len()];
        for (place, (row, product)) in rows.iter().zip(products).enumerate() {
            if let Some(ahead) = rows.get(place + AHEAD) {
                fetch(row_of(*ahead));
            }
            let row = row_of(*row);
            let (row_chunks, row_rest) = row.as_chunks::<LANES>();
            let mut sums = [0.0_f32; LANES];
            for (a, b) in chunks.iter().zip(row_chunks) {
                add_products(&mut sums, a, &convert(b));
            }
            if !rest.is_empty() {
                add_products(&mut sums, &filled_up(rest), &convert(&filled_up(row_rest)));
            }
            *product = total(sums);
        }
    }

    /// A number in half precision, from its bits.
    #[inline(always)]
    pub(super) fn single(half: u16) -> f32 {
        /// How much further from zero the exponents of single precision begin.
        const SHIFT: u32 = (127 - 15) << 23;
        let bits = u32::from(half & 0x7fff) << 13;
        let number = match half & 0x7c00 {
            // Below the smallest exponent numbers lie as close as just above it: they are read
            // there, and what that adds is taken away.
            0 => f32::from_bits(bits + SHIFT + (1 << 23)) - f32::from_bits(SHIFT + (1 << 23)),
            // Infinity, and what is no number.
            0x7c00 => f32::from_bits(bits | 0x7f80_0000),
            _ => f32::from_bits(bits + SHIFT),
        };
        f32::from_bits(number.to_bits() | u32::from(half & 0x8000) << 16)
    }

    #[inline(always)]
    pub(super) fn inner_product_i8(a: &[i8], b: &[i8]) -> i32 {
        // Whole numbers may be added in any order: the compiler finds the lanes.
        a.iter().zip(b).map(|(a, b)| i32::from(*a) * i32::from(*b)).sum()
    }

    #[inline(always)]
    pub(super) fn add_scaled(sums: &mut [f32], row: &[i8], scale: f32) {
        for (sum, value) in sums.iter_mut().zip(row) {
            *sum += f32::from(*value) * scale;
        }
    }

    #[inline(always)]
    pub(super) fn differing_bits(query: &[u64], blocks: &[u64], counts: &mut [u16]) {
        match query.len() {
            0 => counts.fill(0),
            // Half of the signs of vectors with 256, 384, 512, 768 and 1,024 dimensions: unrolled.
            2 => of_width::<2>(query, blocks, counts),
            3 => of_width::<3>(query, blocks, counts),
            4 => of_width::<4>(query, blocks, counts),
            6 => of_width::<6>(query, blocks, counts),
            8 => of_width::<8>(query, blocks, counts),
            width => {
                let blocks = blocks.as_chunks::<ROWS>().0.chunks_exact(width);
                for (block, counts) in blocks.zip(counts.as_chunks_mut().0) {
                    count_block(query, block, counts);
                }
            }
        }
    }

    #[inline(always)]
    pub(super) fn no_greater(counts: &[u16], most: u16, bits: &mut [u64]) {
        bits_where(counts, bits, |count| count <= most);
    }

    #[inline(always)]
    pub(super) fn no_less(values: &[f32], least: f32, bits: &mut [u64]) {
        bits_where(values, bits, |value| value >= least);
    }

    #[inline(always)]
    fn bits_where<T: Copy>(values: &[T], bits: &mut [u64], holds: impl Fn(T) -> bool) {
        for (values, bits) in values.as_chunks::<64>().0.iter().zip(bits) {
            *bits = 0;
            for (at, value) in values.iter().enumerate() {
                *bits |= u64::from(holds(*value)) << at;
            }
        }
    }

    #[inline(always)]
    pub(super) fn add_differing_bits(
        query: &[u64],
        words: &[u64],
        rows: &[usize],
        counts: &mut [u16],
    ) {
        for (row, count) in rows.iter().zip(counts) {
            let words = words[row * query.len()..][..query.len()].iter().zip(query);
            *count += words.map(|(word, query)| (word ^ query).count_ones() as u16).sum::<u16>();
        }
    }

    #[inline(always)]
    fn of_width<const WIDTH: usize>(query: &[u64], blocks: &[u64], counts: &mut [u16]) {
        let Some(query) = query.first_chunk::<WIDTH>() else { return };
        let (blocks, _) = blocks.as_chunks::<ROWS>().0.as_chunks::<WIDTH>();
        for (block, counts) in blocks.iter().zip(counts.as_chunks_mut().0) {
            count_block(query, block, counts);
        }
    }

    /// Row by row: this order the compiler turns into one register for all rows.
    #[inline(always)]
    fn count_block(query: &[u64], block: &[[u64; ROWS]], counts: &mut [u16; ROWS]) {
        for (row, count) in counts.iter_mut().enumerate() {
            let words = block.iter().zip(query);
            *count =
                words.map(|(words, word)| (words[row] ^ word).count_ones()).sum::<u32>() as u16;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// All levels that this processor has.
    fn levels() -> impl Iterator<Item = Level> {
        let most = Level::of_this_processor();
        [Level::Compiled, Level::Avx2, Level::Avx512]
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
            let compiled = inner_product::at(Level::Compiled, &a, &b);
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
            let singles: Vec<f32> = rows.iter().copied().map(bodies::single).collect();
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
            let converted = bodies::single(half);
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
