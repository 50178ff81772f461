//! Packs: no text makes the loader panic, what it says is within the text, and a pack that can be run says the same when it is
//! written out and read again.
#![no_main]

use convoke_machine::pack::{Moment, looks_like_a_pack, outline, read, to_diagram};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    let _ = looks_like_a_pack(text);
    let (pack, findings) = read(text);
    assert_eq!(pack.is_none(), findings.iter().any(|finding| finding.is_error()), "{text:?}");
    for finding in &findings {
        let place = finding.place.clone().unwrap_or_default();
        assert!(place.start <= place.end && place.start <= text.len(), "{finding:?} in {text:?}");
    }
    let Some(pack) = pack else { return };
    let _ = (
        outline::to_text(&pack),
        outline::to_json(&pack),
        to_diagram(&pack, None).map(|drawn| (drawn.to_mermaid(), drawn.to_svg())),
        pack.agent_cards(),
    );
    for prompt in pack.prompts().values() {
        if let Ok(bound) = prompt.bind(&Default::default()) {
            let _ = prompt.system("m", &bound, &Moment::default());
        }
        for validator in &prompt.validators {
            let _ = validator.instead_of(text);
        }
    }
    let written = serde_json::to_string(pack.document()).expect("a document is JSON");
    let (again, _) = read(&written);
    assert_eq!(
        again.expect("a pack stays one").document().to_value(),
        pack.document().to_value(),
        "{text:?}"
    );
});
