//! The supervisor trait.

use convoke_core::{BoxFuture, Error, Scope};

use super::{Review, Thresholds, Trigger, Verdict};

/// Judges what a supervised goal came to.
///
/// ```
/// use convoke_core::{BoxFuture, Error, Scope};
/// use convoke_goals::supervise::{Review, Supervisor, Thresholds, Trigger, Verdict};
///
/// /// Wants haiku: three lines, whatever anybody says.
/// struct Haiku;
///
/// impl Supervisor for Haiku {
///     fn reconcile(&self, review: &Review<'_>) -> Vec<Trigger> {
///         let mut triggers = Thresholds::default().reconcile(review);
///         if review.product.text.lines().count() != 3 {
///             triggers.push(Trigger::Concern("it is no haiku".to_owned()));
///         }
///         triggers
///     }
///
///     fn supervise<'a>(
///         &'a self,
///         _scope: &'a Scope,
///         _review: &'a Review<'a>,
///     ) -> BoxFuture<'a, Result<Verdict, Error>> {
///         let correction = "Three lines, please.".to_owned();
///         Box::pin(async { Ok(Verdict::Reorient { correction, reason: "not a haiku".to_owned() }) })
///     }
/// }
/// ```
pub trait Supervisor: Send + Sync {
    /// Why somebody should look at this, if there is a reason. Without any the result is taken as it is.
    ///
    /// It is asked again when a run is resumed, so it must be a pure function of the review.
    fn reconcile(&self, review: &Review<'_>) -> Vec<Trigger> {
        Thresholds::default().reconcile(review)
    }

    /// Decides about a result that there is a reason to look at. What it does goes through the scope.
    ///
    /// # Errors
    /// If it cannot decide, in which case the goal fails.
    fn supervise<'a>(
        &'a self,
        scope: &'a Scope,
        review: &'a Review<'a>,
    ) -> BoxFuture<'a, Result<Verdict, Error>>;
}
