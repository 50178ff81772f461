//! Compares what was said with what was done, without asking a model, and holds the thresholds that count as trouble.

use super::{Assessment, Commitment, Confidence, Product, Review, Trigger};

/// From where on what was said beforehand is a reason to look.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Thresholds {
    /// More assumptions than these are too many.
    pub assumptions: usize,
    /// This confidence, or less, is too little. `None`: any will do.
    pub confidence: Option<Confidence>,
}

impl Default for Thresholds {
    fn default() -> Self {
        Self { assumptions: 3, confidence: Some(Confidence::Low) }
    }
}

impl Thresholds {
    /// Returns all triggers, in a fixed order; a pure function.
    #[must_use]
    pub fn reconcile(&self, review: &Review<'_>) -> Vec<Trigger> {
        let mut triggers = Vec::new();
        match review.assessment {
            Ok(assessment) => assessed(assessment, &mut triggers),
            Err(why) => triggers.push(Trigger::AssessmentUnavailable(why.clone())),
        }
        match review.commitment {
            Ok(commitment) => self.committed(commitment, review.product, &mut triggers),
            Err(why) => triggers.push(Trigger::CommitmentUnavailable(why.clone())),
        }
        seen(review.product, &mut triggers);
        triggers
    }

    fn committed(&self, commitment: &Commitment, product: &Product, triggers: &mut Vec<Trigger>) {
        if self.confidence.is_some_and(|least| commitment.confidence <= least) {
            triggers.push(Trigger::LowConfidence);
        }
        let assumptions = non_empty(&commitment.assumptions).count();
        if assumptions > self.assumptions {
            triggers.push(Trigger::ExcessAssumptions(assumptions));
        }
        let planned: Vec<String> = non_empty(&commitment.tools_planned).map(str::to_lowercase).collect();
        let unplanned = product.tools.iter().filter(|tool| !planned.contains(&tool.to_lowercase()));
        let unplanned: Vec<String> = unplanned.cloned().collect();
        // Whoever names none has not planned to use none: most models cannot say beforehand.
        if !planned.is_empty() && !unplanned.is_empty() {
            triggers.push(Trigger::UnplannedTools(unplanned));
        }
    }
}

fn assessed(assessment: &Assessment, triggers: &mut Vec<Trigger>) {
    if !assessment.met_commitment {
        triggers.push(Trigger::CommitmentNotMet);
    }
    triggers.extend(non_empty(&assessment.deviations).map(|text| Trigger::Deviation(text.to_owned())));
    triggers.extend(non_empty(&assessment.concerns).map(|text| Trigger::Concern(text.to_owned())));
    triggers.extend(non_empty(&assessment.unexpected).map(|text| Trigger::Unexpected(text.to_owned())));
}

/// What is wrong whatever anybody says.
fn seen(product: &Product, triggers: &mut Vec<Trigger>) {
    if product.text.trim().is_empty() {
        triggers.push(Trigger::EmptyOutput);
    }
    if !product.missing.is_empty() {
        triggers.push(Trigger::MissingFields(product.missing.clone()));
    }
    triggers.extend(product.incomplete.clone().map(Trigger::Incomplete));
    triggers.extend(product.unconverged.map(Trigger::Unconverged));
}

/// Those that say anything, trimmed.
fn non_empty(texts: &[String]) -> impl Iterator<Item = &str> {
    texts.iter().map(|text| text.trim()).filter(|text| !text.is_empty())
}
