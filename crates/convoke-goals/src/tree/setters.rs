//! Setters that several kinds of nodes share.
//!
//! They are methods and not those of a trait, so that nobody has to have a trait in scope to build a tree.

/// Gives a type methods for the parts it has: fields of these names.
macro_rules! setters {
    ($of:ident { $($part:ident $(($what:literal))?),* $(,)? }) => {
        impl $of {
            $($crate::tree::setters::setters!(@$part $($what)?);)*
        }
    };
    (@name) => {
        /// Returns its name.
        #[must_use]
        pub fn name(&self) -> &str {
            &self.name
        }
    };
    (@ty) => {
        /// Sets its type.
        #[must_use]
        pub fn typed(mut self, ty: $crate::agentfile::model::Type) -> Self {
            self.ty = ty;
            self
        }

        /// Returns its type.
        #[must_use]
        pub fn ty(&self) -> &$crate::agentfile::model::Type {
            &self.ty
        }
    };
    (@outputs) => {
        /// Adds something it is to give: a name, or a name and a type.
        #[must_use]
        pub fn output(mut self, output: impl Into<$crate::tree::Output>) -> Self {
            self.outputs.push(output.into());
            self
        }

        /// Returns its outputs.
        #[must_use]
        pub fn outputs(&self) -> &[$crate::tree::Output] {
            &self.outputs
        }
    };
    (@when $done:literal) => {
        #[doc = concat!("Says under which condition it is ", $done, " at all.")]
        #[must_use]
        pub fn when(mut self, condition: $crate::agentfile::model::Condition<$crate::tree::Name>) -> Self {
            self.when = Some(condition);
            self
        }
    };
    (@supervision $watched:literal) => {
        /// Sets who supervises it.
        #[must_use]
        pub fn supervision(mut self, supervision: $crate::agentfile::model::Supervision) -> Self {
            self.supervision = supervision;
            self
        }

        /// A model watches.
        #[must_use]
        pub fn supervised(self) -> Self {
            self.supervision($crate::agentfile::model::Supervision::Llm)
        }

        #[doc = concat!("A person approves, revises or rejects what comes of ", $watched, ".")]
        #[must_use]
        pub fn supervised_by_human(self) -> Self {
            self.supervision($crate::agentfile::model::Supervision::Human)
        }
    };
    (@overrides $whole:literal) => {
        #[doc = concat!("Says what holds for ", $whole, ", instead of what was said before.")]
        #[must_use]
        pub fn customize(mut self, overrides: $crate::tree::Overrides) -> Self {
            self.overrides = overrides;
            self
        }
    };
}

pub(crate) use setters;
