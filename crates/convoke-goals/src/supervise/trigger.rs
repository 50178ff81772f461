//! Triggers that escalate a result to the supervisor.

use std::fmt;

use serde::Serialize;

/// A trigger: something about a result that is a reason to look at it.
///
/// [`name`](Self::name) is what kind of reason it is; its `Display` adds what is known about it, after a colon. That is for
/// programs; [`words`](Self::words) is for people.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Trigger {
    /// There is no commitment to compare with, and why.
    CommitmentUnavailable(String),
    /// There is no assessment, and why.
    AssessmentUnavailable(String),
    /// Whoever did it says that the commitment was not kept.
    CommitmentNotMet,
    /// Where the commitment was departed from.
    Deviation(String),
    /// What is doubtful.
    Concern(String),
    /// What nobody had expected.
    Unexpected(String),
    /// Whoever did it was not sure of it beforehand.
    LowConfidence,
    /// More was taken for granted than is good: so much.
    ExcessAssumptions(usize),
    /// There is no result to speak of.
    EmptyOutput,
    /// Outputs that are missing.
    MissingFields(Vec<String>),
    /// The work was cut short, and why.
    Incomplete(String),
    /// Tools that were used though the commitment names others.
    UnplannedTools(Vec<String>),
    /// It was still being improved on when the limit on iterations, this one, was reached.
    Unconverged(u32),
}

impl Trigger {
    /// Returns the kind of reason.
    #[must_use]
    pub fn name(&self) -> &'static str {
        match self {
            Self::CommitmentUnavailable(_) => "commitment_unavailable",
            Self::AssessmentUnavailable(_) => "assessment_unavailable",
            Self::CommitmentNotMet => "commitment_not_met",
            Self::Deviation(_) => "scope_deviation",
            Self::Concern(_) => "concerns_raised",
            Self::Unexpected(_) => "unexpected_results",
            Self::LowConfidence => "low_confidence",
            Self::ExcessAssumptions(_) => "excess_assumptions",
            Self::EmptyOutput => "empty_output",
            Self::MissingFields(_) => "missing_fields",
            Self::Incomplete(_) => "incomplete",
            Self::UnplannedTools(_) => "unplanned_tools",
            Self::Unconverged(_) => "unconverged",
        }
    }

    /// Describes it for people.
    ///
    /// ```
    /// use convoke_goals::supervise::Trigger;
    ///
    /// assert_eq!(Trigger::ExcessAssumptions(4).words(), "more is taken for granted than is good: 4 assumptions");
    /// ```
    #[must_use]
    pub fn words(&self) -> String {
        match self {
            Self::CommitmentUnavailable(why) => format!("there is no commitment to compare with: {why}"),
            Self::AssessmentUnavailable(why) => format!("there is no assessment: {why}"),
            Self::CommitmentNotMet => "by its own account it does not keep the commitment".to_owned(),
            Self::Deviation(text) => format!("it departs from the commitment: {text}"),
            Self::Concern(text) => format!("there is a concern: {text}"),
            Self::Unexpected(text) => format!("something was not expected: {text}"),
            Self::LowConfidence => "confidence was low before the work began".to_owned(),
            Self::ExcessAssumptions(count) => {
                let noun = if *count == 1 { "assumption" } else { "assumptions" };
                format!("more is taken for granted than is good: {count} {noun}")
            }
            Self::EmptyOutput => "the result is empty".to_owned(),
            Self::MissingFields(names) => format!("outputs are missing: {}", names.join(", ")),
            Self::Incomplete(why) => format!("the work was cut short: {why}"),
            Self::UnplannedTools(names) => {
                format!("tools were used that were not planned: {}", names.join(", "))
            }
            Self::Unconverged(limit) => {
                let noun = if *limit == 1 { "iteration" } else { "iterations" };
                format!("it was still changing at the limit of {limit} {noun}")
            }
        }
    }

    /// A reason as it was written down, read back. `None` if it is none that is known here.
    ///
    /// ```
    /// use convoke_goals::supervise::Trigger;
    ///
    /// assert_eq!(Trigger::read("concern:too long"), Some(Trigger::Concern("too long".to_owned())));
    /// assert_eq!(Trigger::read("a new one"), None);
    /// ```
    #[must_use]
    pub fn read(written: &str) -> Option<Self> {
        let (name, text) = written.split_once(':').unwrap_or((written, ""));
        let words = || text.to_owned();
        let names = || text.split(", ").map(str::to_owned).collect();
        Some(match name {
            "commitment_unavailable" => Self::CommitmentUnavailable(words()),
            "assessment_unavailable" => Self::AssessmentUnavailable(words()),
            "commitment_not_met" => Self::CommitmentNotMet,
            "deviation" => Self::Deviation(words()),
            "concern" => Self::Concern(words()),
            "unexpected" => Self::Unexpected(words()),
            "low_confidence" => Self::LowConfidence,
            "excess_assumptions" => Self::ExcessAssumptions(text.parse().ok()?),
            "empty_output" => Self::EmptyOutput,
            "missing_fields" => Self::MissingFields(names()),
            "incomplete" => Self::Incomplete(words()),
            "unplanned_tools" => Self::UnplannedTools(names()),
            "unconverged" => Self::Unconverged(text.parse().ok()?),
            _ => return None,
        })
    }
}

impl fmt::Display for Trigger {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Deviation(text) => write!(formatter, "deviation:{text}"),
            Self::Concern(text) => write!(formatter, "concern:{text}"),
            Self::Unexpected(text) => write!(formatter, "unexpected:{text}"),
            Self::CommitmentUnavailable(why) | Self::AssessmentUnavailable(why) | Self::Incomplete(why) => {
                write!(formatter, "{}:{why}", self.name())
            }
            Self::ExcessAssumptions(count) => write!(formatter, "{}:{count}", self.name()),
            Self::Unconverged(limit) => write!(formatter, "{}:{limit}", self.name()),
            Self::MissingFields(names) | Self::UnplannedTools(names) => {
                write!(formatter, "{}:{}", self.name(), names.join(", "))
            }
            Self::CommitmentNotMet | Self::LowConfidence | Self::EmptyOutput => {
                formatter.write_str(self.name())
            }
        }
    }
}

/// As its `Display`.
impl Serialize for Trigger {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}
