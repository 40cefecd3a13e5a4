//! What the processor can do, for `system_info`.

/// The processor features that the engine uses.
pub(crate) fn processor_features() -> Vec<&'static str> {
    #[cfg(target_arch = "x86_64")]
    {
        let known = [
            ("avx2", std::is_x86_feature_detected!("avx2")),
            ("fma", std::is_x86_feature_detected!("fma")),
            ("f16c", std::is_x86_feature_detected!("f16c")),
            ("avx512f", std::is_x86_feature_detected!("avx512f")),
        ];
        known.into_iter().filter(|(_, present)| *present).map(|(name, _)| name).collect()
    }
    #[cfg(not(target_arch = "x86_64"))]
    Vec::new()
}
