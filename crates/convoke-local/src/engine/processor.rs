//! Checks whether this program was built for this processor.
//!
//! The engine is compiled for a kind of processor, set by variables of the environment at build time. On one that lacks
//! what it was compiled for, the process would die at the first instruction it does not know.

use crate::LocalError;

/// Checks that the processor has what the engine was compiled for, and warns if it was compiled for less.
#[cfg(target_arch = "x86_64")]
pub(super) fn check() -> Result<(), LocalError> {
    let facts = [
        ("AVX2", option_env!("GGML_AVX2"), std::is_x86_feature_detected!("avx2")),
        ("FMA", option_env!("GGML_FMA"), std::is_x86_feature_detected!("fma")),
        ("F16C", option_env!("GGML_F16C"), std::is_x86_feature_detected!("f16c")),
        ("BMI2", option_env!("GGML_BMI2"), std::is_x86_feature_detected!("bmi2")),
    ];
    for (feature, built, present) in facts {
        if built == Some("ON") && !present {
            return Err(LocalError::Processor { feature });
        }
    }
    let used = option_env!("GGML_AVX2") == Some("ON") || cfg!(target_feature = "avx2");
    if !used && std::is_x86_feature_detected!("avx2") {
        tracing::warn!(
            "the engine was built without AVX2, which makes it several times slower; see `.cargo/config.toml`"
        );
    }
    Ok(())
}

/// Other processors need no check.
#[cfg(not(target_arch = "x86_64"))]
pub(super) fn check() -> Result<(), LocalError> {
    Ok(())
}
