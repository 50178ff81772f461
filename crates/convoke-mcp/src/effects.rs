//! Translates a server's annotations of its tools into declared effects.

use convoke_core::{Repeat, ToolEffect, ToolEffects};
use rmcp::model::ToolAnnotations;

/// What a tool does to the world, and whether an interrupted call may be made again.
///
/// A server that is not believed, and one that says nothing, may do anything: it talks to whom it likes, cannot be undone
/// and is never called again. A believed one is taken at its word, with the protocol's defaults where it is silent.
pub(crate) fn declared(annotations: Option<&ToolAnnotations>, believed: bool) -> (ToolEffects, Repeat) {
    let Some(hints) = annotations.filter(|_| believed) else {
        return (ToolEffects::from([ToolEffect::Network, ToolEffect::Irreversible]), Repeat::Never);
    };
    let reads = hints.read_only_hint == Some(true);
    let mut effects = ToolEffects::from(ToolEffect::Reads);
    if hints.open_world_hint != Some(false) {
        effects = effects.and(ToolEffect::Network);
    }
    if !reads {
        effects = effects.and(ToolEffect::Writes);
        if hints.is_destructive() {
            effects = effects.and(ToolEffect::Irreversible);
        }
    }
    let repeat = if reads || hints.is_idempotent() { Repeat::Safe } else { Repeat::Never };
    (effects, repeat)
}

#[cfg(test)]
mod tests {
    use super::*;
    use ToolEffect::{Irreversible, Network, Reads, Writes};

    #[test]
    fn a_believed_server_is_taken_at_its_word() {
        let hints = ToolAnnotations::new;
        let cases = [
            (hints(), vec![Reads, Network, Writes, Irreversible], Repeat::Never),
            (hints().read_only(true), vec![Reads, Network], Repeat::Safe),
            (hints().read_only(true).open_world(false), vec![Reads], Repeat::Safe),
            (hints().destructive(false), vec![Reads, Network, Writes], Repeat::Never),
            (hints().idempotent(true).open_world(false), vec![Reads, Writes, Irreversible], Repeat::Safe),
        ];
        for (hints, effects, repeat) in cases {
            assert_eq!(declared(Some(&hints), true), (ToolEffects::from(effects), repeat), "{hints:?}");
        }
    }

    #[test]
    fn nobody_else_is() {
        let worst = (ToolEffects::from([Network, Irreversible]), Repeat::Never);
        assert_eq!(declared(Some(&ToolAnnotations::new().read_only(true)), false), worst);
        assert_eq!(declared(None, true), worst);
    }
}
