//! Detects the instruction sets of this processor.

use std::sync::atomic::{AtomicU8, Ordering};

/// The instruction set that the loops use.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub enum SimdLevel {
    /// The instructions of the compilation target.
    Compiled = 1,
    /// AVX2 with the bit operations and half-precision conversion of the same generation
    /// (x86-64-v3).
    Avx2 = 2,
    /// AVX-512 with vectors of bytes and words (x86-64-v4) and population counts.
    Avx512 = 3,
}

impl SimdLevel {
    /// The level of this processor, detected once.
    #[inline]
    pub fn of_this_processor() -> Self {
        /// 0 until detected. Two threads may detect concurrently, with the same result.
        static LEVEL: AtomicU8 = AtomicU8::new(0);
        match LEVEL.load(Ordering::Relaxed) {
            0 => {
                let level = Self::detect_level();
                LEVEL.store(level as u8, Ordering::Relaxed);
                level
            }
            2 => Self::Avx2,
            3 => Self::Avx512,
            _ => Self::Compiled,
        }
    }

    #[cfg(target_arch = "x86_64")]
    fn detect_level() -> Self {
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
    fn detect_level() -> Self {
        Self::Compiled
    }

    /// The name for display.
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
