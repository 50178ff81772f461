//! Delegates the description of a wrapper to the model it wraps.

/// Delegates the description of a wrapper to its field `model`. It stands inside `impl Model`, and leaves nothing but the replies
/// to write.
#[macro_export]
macro_rules! delegate_to_model {
    () => {
        fn name(&self) -> &str {
            self.model.name()
        }

        fn reality(&self) -> convoke_core::Reality {
            self.model.reality()
        }

        fn price(&self) -> Option<convoke_core::Price> {
            self.model.price()
        }

        fn highest_price(&self) -> Option<convoke_core::Price> {
            self.model.highest_price()
        }
    };
}
