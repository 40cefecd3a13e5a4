//! Hashes of small keys that are the same on every machine and in every version, because some are
//! stored on disk.

const FNV_OFFSET: u64 = 0xcbf2_9ce4_8422_2325;
const FNV_PRIME: u64 = 0x0000_0100_0000_01b3;

/// FNV-1a (Fowler, Noll, Vo) over bytes or over characters.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Fnv1a(u64);

impl Default for Fnv1a {
    fn default() -> Self {
        Self(FNV_OFFSET)
    }
}

impl Fnv1a {
    /// Adds a byte or a character.
    #[inline]
    pub(crate) fn push(&mut self, unit: impl Into<u64>) {
        self.0 = (self.0 ^ unit.into()).wrapping_mul(FNV_PRIME);
    }

    /// The hash of the units so far and one more.
    #[inline]
    pub(crate) fn then(mut self, unit: impl Into<u64>) -> Self {
        self.push(unit);
        self
    }

    /// The hash of the units so far and more.
    #[inline]
    pub(crate) fn then_all(mut self, units: impl IntoIterator<Item = impl Into<u64>>) -> Self {
        units.into_iter().for_each(|unit| self.push(unit));
        self
    }

    /// The hash of all units so far.
    pub(crate) fn finish(self) -> u64 {
        self.0
    }
}

/// FNV-1a over bytes or characters.
pub(crate) fn fnv1a(units: impl IntoIterator<Item = impl Into<u64>>) -> u64 {
    Fnv1a::default().then_all(units).finish()
}

/// The mixer of SplitMix64 (Steele et al. 2014): every bit of the result depends on every bit of
/// `x`.
pub(crate) const fn mix(x: u64) -> u64 {
    let x = x.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ (x >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// From the reference implementations.
    #[test]
    fn hashes_are_those_of_their_papers() {
        assert_eq!(fnv1a(*b""), 0xcbf2_9ce4_8422_2325);
        assert_eq!(fnv1a(*b"a"), 0xaf63_dc4c_8601_ec8c);
        assert_eq!(fnv1a(*b"foobar"), 0x8594_4171_f739_67e8);
        assert_eq!(fnv1a("foobar".chars()), fnv1a(*b"foobar"));
        assert_eq!(mix(0), 0xe220_a839_7b1d_cdaf);
    }
}
