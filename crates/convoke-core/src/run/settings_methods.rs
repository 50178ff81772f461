//! Setters that a runtime and a single run share.

/// Writes the methods that change `self.settings`.
macro_rules! settings_methods {
    () => {
        /// The longest a single leaf step may take, whatever it waits for; `None`, which holds unless something else is
        /// said, means as long as it takes. A step that blocks its thread is noticed only where it has a limit.
        pub fn leaf_timeout(mut self, limit: Option<std::time::Duration>) -> Self {
            self.settings.leaf_timeout = limit;
            self
        }

        /// Sets how many branches of one fan-out may run at once.
        pub fn max_concurrency(mut self, branches: std::num::NonZeroUsize) -> Self {
            self.settings.max_concurrency = Some(branches);
            self
        }

        /// The model for steps that name none.
        pub fn model(self, model: impl crate::Model + 'static) -> Self {
            self.shared_model(std::sync::Arc::new(model))
        }

        /// The model for steps that name none, shared with others.
        pub fn shared_model(mut self, model: std::sync::Arc<dyn crate::Model>) -> Self {
            self.settings.model = Some(model);
            self
        }

        /// Sampling parameters that override those of single steps.
        pub fn params(mut self, params: crate::ModelParams) -> Self {
            self.settings.params = params;
            self
        }

        /// Decides what happens when a step of a chain or loop fails.
        pub fn on_failure(mut self, policy: impl crate::FailurePolicy + 'static) -> Self {
            self.settings.on_failure = Some(std::sync::Arc::new(policy));
            self
        }
    };
}

pub(super) use settings_methods;
