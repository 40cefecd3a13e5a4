//! Can this processor run the library as it was compiled? Asked once, before the first index is
//! made.

/// What `-march=x86-64-v3` lets the compiler use and Rust can ask for; `.cargo/config.toml`
/// compiles FAISS with it.
#[cfg(target_arch = "x86_64")]
const REQUIRED: &str = "AVX2, FMA, F16C and BMI2";

/// Checks that the processor has the instructions FAISS was compiled for.
///
/// # Errors
/// One line for the user that names what is missing. Never on processors other than x86-64, where
/// FAISS is compiled for the baseline.
///
/// ```
/// if let Err(message) = episodica_faiss::cpu_supported() {
///     assert!(message.contains("processor"));
/// }
/// ```
pub fn cpu_supported() -> Result<(), String> {
    #[cfg(target_arch = "x86_64")]
    {
        let found = [
            ("AVX2", std::is_x86_feature_detected!("avx2")),
            ("FMA", std::is_x86_feature_detected!("fma")),
            ("F16C", std::is_x86_feature_detected!("f16c")),
            ("BMI1", std::is_x86_feature_detected!("bmi1")),
            ("BMI2", std::is_x86_feature_detected!("bmi2")),
            ("LZCNT", std::is_x86_feature_detected!("lzcnt")),
            ("MOVBE", std::is_x86_feature_detected!("movbe")),
        ];
        report(&found)
    }
    #[cfg(not(target_arch = "x86_64"))]
    Ok(())
}

#[cfg(target_arch = "x86_64")]
fn report(found: &[(&str, bool)]) -> Result<(), String> {
    let missing: Vec<&str> =
        found.iter().filter(|(_, present)| !present).map(|(name, _)| *name).collect();
    if missing.is_empty() {
        return Ok(());
    }
    Err(format!(
        "this processor lacks {}; episodica's FAISS is compiled for x86-64-v3 ({REQUIRED}; Intel \
         since 2013, AMD since 2015)",
        missing.join(", ")
    ))
}

#[cfg(all(test, target_arch = "x86_64"))]
mod tests {
    use super::*;

    #[test]
    fn missing_features_are_named_in_one_line() {
        assert_eq!(report(&[("AVX2", true)]), Ok(()));
        let message = report(&[("AVX2", false), ("FMA", true), ("BMI2", false)]).unwrap_err();
        assert!(message.starts_with("this processor lacks AVX2, BMI2; "), "{message}");
        assert!(!message.contains('\n'));
    }
}
