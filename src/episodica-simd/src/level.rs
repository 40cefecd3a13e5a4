//! What this processor can do.

use std::sync::atomic::{AtomicU8, Ordering};

/// Which instructions the loops use here.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub enum SimdLevel {
    /// Those of the target that everything is compiled for.
    Compiled = 1,
    /// AVX2, and the bit operations and the conversion of halves that came with it (x86-64-v3).
    Avx2 = 2,
    /// AVX-512 with vectors of bytes and words (x86-64-v4), and counts of bits.
    Avx512 = 3,
}

impl SimdLevel {
    /// The level of this processor, asked once.
    #[inline]
    pub fn of_this_processor() -> Self {
        /// 0 until it was asked. Two threads may ask at once: they hear the same.
        static LEVEL: AtomicU8 = AtomicU8::new(0);
        match LEVEL.load(Ordering::Relaxed) {
            0 => {
                let level = Self::ask();
                LEVEL.store(level as u8, Ordering::Relaxed);
                level
            }
            2 => Self::Avx2,
            3 => Self::Avx512,
            _ => Self::Compiled,
        }
    }

    #[cfg(target_arch = "x86_64")]
    fn ask() -> Self {
        macro_rules! has {
            ($($feature:tt)*) => { $(std::is_x86_feature_detected!($feature))&&* };
        }
        if !has!("avx2" "f16c" "bmi1" "bmi2" "lzcnt" "popcnt") {
            Self::Compiled
        } else if has!("avx512f" "avx512bw" "avx512dq" "avx512vl" "avx512vpopcntdq") {
            Self::Avx512
        } else {
            Self::Avx2
        }
    }

    #[cfg(not(target_arch = "x86_64"))]
    fn ask() -> Self {
        Self::Compiled
    }

    /// The name for people.
    pub fn name(self) -> &'static str {
        match self {
            Self::Avx512 => "AVX-512",
            Self::Avx2 => "AVX2",
            Self::Compiled if cfg!(target_arch = "aarch64") => "NEON",
            Self::Compiled if cfg!(target_feature = "sse4.2") => "SSE4.2",
            Self::Compiled => "baseline",
        }
    }
}
