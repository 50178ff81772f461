//! The scope an interceptor works in: `interceptors/<name>` below the scope of the effect, with the effect's number.

use super::{EffectOutcome, Interceptor};
use crate::scope::Child;
use crate::{Digest, Error, Path, Scope, Segment};

/// The name of the scope that has those of the interceptors in it. Journals have it.
const INTERCEPTORS: &str = "interceptors";

/// How the names of scopes begin in which outcomes are judged. Journals have it.
const AFTER: &str = "after ";

/// Where the policy asked about calls when nobody who did had a name. Journals have it.
const UNNAMED: &str = "gate";

impl Scope {
    /// What the interceptors of an effect have their scopes below. It has the effect's number, not one of its own: about
    /// what the journal answers they are not asked, and that must not shift the numbers of what follows.
    pub(super) fn of_interceptors(&self, ordinal: u32) -> Self {
        self.narrowed(Child { repetition: Some(ordinal + 1), is_call: true, ..Child::named(INTERCEPTORS) })
    }

    /// Below that: the scope of one interceptor, which is not told what it does there itself.
    pub(super) fn of_interceptor(&self, interceptor: &dyn Interceptor) -> Self {
        let own = self.child(interceptor.name());
        // What it learns there is for its judgement only.
        own.node.learnt.gather();
        let around = own.around.as_deref().and_then(|around| around.without(interceptor.name()));
        Self { around, ..own }
    }

    /// Below the scope of an interceptor: where it judges this outcome. An effect that is performed again may have another,
    /// and what was found out about the first says nothing about that.
    pub(super) fn judging(&self, outcome: &Result<EffectOutcome, Error>) -> Result<Self, Error> {
        let digest = match outcome {
            Ok(outcome) => Digest::of_json(&serde_json::to_value(outcome)?),
            Err(error) => Digest::of_parts(&[error.to_string().as_bytes()]),
        };
        Ok(self.child(&format!("{AFTER}{digest}")))
    }

    /// In the scope of a tool's call: where the policy asked about it when nobody who did had a name.
    pub(super) fn of_unnamed(&self) -> Self {
        self.narrowed(Child { repetition: Some(1), is_call: true, ..Child::named(UNNAMED) })
    }

    /// Where everything is that interceptors did about an effect of this scope.
    pub(crate) fn path_of_interceptors(&self, ordinal: u32) -> Path {
        Path::join(self.path(), INTERCEPTORS, ordinal + 1)
    }
}

/// The name of the interceptor that asks at this path; empty if it asked when nobody who did had a name.
pub(crate) fn asked_by(path: &Path) -> Option<String> {
    let mut segments = path.segments().rev().map(Segment::of);
    let last = segments.next()?;
    match segments.next() {
        Some(around) if around.name() == INTERCEPTORS => Some(last.name()),
        _ => (last.name() == UNNAMED).then(String::new),
    }
}

/// The address of the effect that an interceptor asks about at this path.
pub(crate) fn guarded_by(path: &Path) -> Option<(Path, u32)> {
    let (rest, _) = path.as_str().rsplit_once('/')?;
    let (around, interceptors) = rest.rsplit_once('/').unwrap_or(("", rest));
    let interceptors = Segment::of(interceptors);
    (interceptors.name() == INTERCEPTORS).then(|| (Path::from(around), interceptors.repetition() - 1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_asks_about_what_follows_from_where_it_is_asked() {
        let read = |path: &str| (asked_by(&Path::from(path)), guarded_by(&Path::from(path)));
        let about = |path: &str, ordinal| Some((Path::from(path), ordinal));
        assert_eq!(read("main/pay/interceptors/a%2fb"), (Some("a/b".to_owned()), about("main/pay", 0)));
        assert_eq!(read("main/interceptors#3/policy"), (Some("policy".to_owned()), about("main", 2)));
        assert_eq!(read("interceptors/policy"), (Some("policy".to_owned()), about("", 0)));
        assert_eq!(read("main/pay/gate"), (Some(String::new()), None));
        assert_eq!(read("main/gate/approve"), (None, None));
    }
}
