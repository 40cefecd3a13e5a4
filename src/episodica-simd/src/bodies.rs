//! Function bodies that are compiled for each level: safe code that the compiler vectorises.

use super::{LANES, ROWS};

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
    sum_lanes(sums)
}

#[inline(always)]
fn add_products(sums: &mut [f32; LANES], a: &[f32; LANES], b: &[f32; LANES]) {
    for lane in 0..LANES {
        sums[lane] += a[lane] * b[lane];
    }
}

/// Pads fewer than [`LANES`] numbers with zeros.
#[inline(always)]
fn filled_up<T: Copy + Default>(rest: &[T]) -> [T; LANES] {
    let mut all = [T::default(); LANES];
    all[..rest.len()].copy_from_slice(rest);
    all
}

#[inline(always)]
fn sum_lanes(mut sums: [f32; LANES]) -> f32 {
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
    products_of_halves(query, halves, rows, products, |eight| eight.map(half_to_single));
}

/// Uses the processor's conversion instruction, which every level above `Compiled` has.
#[cfg(target_arch = "x86_64")]
#[inline]
#[target_feature(enable = "avx,f16c")]
pub(super) fn half_inner_products_f16c(
    query: &[f32],
    halves: &[u16],
    rows: &[usize],
    products: &mut [f32],
) {
    use std::arch::x86_64::_mm256_cvtph_ps;
    products_of_halves(query, halves, rows, products, |eight| {
        bytemuck::cast(_mm256_cvtph_ps(bytemuck::cast(eight)))
    });
}

/// Converts each row, which is exact, and multiplies as [`inner_product`] does.
#[inline(always)]
fn products_of_halves(
    query: &[f32],
    halves: &[u16],
    rows: &[usize],
    products: &mut [f32],
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
    for (row, product) in rows.iter().zip(products) {
        let row = &halves[row * query.len()..][..query.len()];
        let (row_chunks, row_rest) = row.as_chunks::<LANES>();
        let mut sums = [0.0_f32; LANES];
        for (a, b) in chunks.iter().zip(row_chunks) {
            add_products(&mut sums, a, &convert(b));
        }
        if !rest.is_empty() {
            add_products(&mut sums, &filled_up(rest), &convert(&filled_up(row_rest)));
        }
        *product = sum_lanes(sums);
    }
}

/// Converts the bits of a half-precision number.
#[inline(always)]
pub(super) fn half_to_single(half: u16) -> f32 {
    /// Difference between the exponent biases of single and half precision.
    const SHIFT: u32 = (127 - 15) << 23;
    let bits = u32::from(half & 0x7fff) << 13;
    let number = match half & 0x7c00 {
        // Subnormal numbers have the spacing of the smallest exponent: they are converted with this
        // exponent, and the value that it adds is subtracted.
        0 => f32::from_bits(bits + SHIFT + (1 << 23)) - f32::from_bits(SHIFT + (1 << 23)),
        // Infinity and NaN.
        0x7c00 => f32::from_bits(bits | 0x7f80_0000),
        _ => f32::from_bits(bits + SHIFT),
    };
    f32::from_bits(number.to_bits() | u32::from(half & 0x8000) << 16)
}

#[inline(always)]
pub(super) fn inner_product_i8(a: &[i8], b: &[i8]) -> i32 {
    // Integer addition is associative, so the compiler vectorises it by itself.
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
        // Unrolled for half of the signs of vectors with 256, 384, 512, 768 and 1,024 dimensions.
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
pub(super) fn add_differing_bits(query: &[u64], words: &[u64], rows: &[usize], counts: &mut [u16]) {
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

/// Holds all rows of a block in one register. The compiler alone would gather words of several
/// blocks, which takes four times as long if a row has two words.
#[cfg(target_arch = "x86_64")]
#[inline]
#[target_feature(enable = "avx512f,avx512vpopcntdq")]
pub(super) fn differing_bits_of_registers(query: &[u64], blocks: &[u64], counts: &mut [u16]) {
    use std::arch::x86_64::{
        __m512i, _mm512_add_epi64, _mm512_cvtepi64_epi16, _mm512_popcnt_epi64, _mm512_set1_epi64,
        _mm512_setzero_si512, _mm512_xor_si512,
    };
    if query.is_empty() {
        return counts.fill(0);
    }
    let blocks = blocks.as_chunks::<ROWS>().0.chunks_exact(query.len());
    for (block, counts) in blocks.zip(counts.as_chunks_mut::<ROWS>().0) {
        let mut sums = _mm512_setzero_si512();
        for (words, word) in block.iter().zip(query) {
            let words: __m512i = bytemuck::cast(*words);
            let differing = _mm512_xor_si512(words, _mm512_set1_epi64(word.cast_signed()));
            sums = _mm512_add_epi64(sums, _mm512_popcnt_epi64(differing));
        }
        *counts = bytemuck::cast(_mm512_cvtepi64_epi16(sums));
    }
}

/// Row by row: the compiler turns this order into one register for all rows.
#[inline(always)]
fn count_block(query: &[u64], block: &[[u64; ROWS]], counts: &mut [u16; ROWS]) {
    for (row, count) in counts.iter_mut().enumerate() {
        let words = block.iter().zip(query);
        *count = words.map(|(words, word)| (words[row] ^ word).count_ones()).sum::<u32>() as u16;
    }
}
