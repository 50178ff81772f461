//! Estimates of what a model call uses: before it is made, and after it if the model did not report its usage.

use super::BYTES_PER_TOKEN;
use crate::message::{Money, Transcript, Usage};
use crate::model::{ModelReply, ModelRequest, Price, ReplyDelta};

/// About how many tokens these messages are.
pub(crate) fn tokens_in(messages: &Transcript) -> u64 {
    messages.encoded_len() as u64 / BYTES_PER_TOKEN + 1
}

/// About how many tokens this request is: its messages, the tools it offers and the shape it asks for.
pub(crate) fn tokens_asked(request: &ModelRequest) -> u64 {
    let tools = request
        .tools
        .iter()
        .map(|tool| (tool.name.len() + tool.description.len()) as u64 + encoded_len(&tool.parameters));
    let shape = request.output.as_ref().map_or(0, |output| encoded_len(&output.schema));
    tokens_in(&request.messages) + (tools.sum::<u64>() + shape) / BYTES_PER_TOKEN
}

fn encoded_len(value: &serde_json::Value) -> u64 {
    value.to_string().len() as u64
}

/// The progress of a reply: its usage and length so far.
#[derive(Debug, Default)]
pub(crate) struct ReplyProgress {
    /// What the model said it has used.
    pub(crate) usage: Option<Usage>,
    bytes: u64,
}

impl ReplyProgress {
    /// One more piece.
    pub(crate) fn note(&mut self, piece: &ReplyDelta) {
        match piece {
            ReplyDelta::Usage(usage) => self.usage = Some(*usage),
            ReplyDelta::Text(text)
            | ReplyDelta::Reasoning(text)
            | ReplyDelta::ToolCallArguments { delta: text, .. } => self.bytes += text.len() as u64,
            _ => {}
        }
    }
}

/// What a call used that failed: what the model said; if it did not, and had begun to answer, an estimate. Of one that never
/// answered nobody knows, unless the model costs nothing.
pub(crate) fn broken_off(progress: &ReplyProgress, asked: u64, price: Option<Price>) -> Option<Usage> {
    let estimate =
        || Usage { is_estimated: true, ..Usage::tokens(asked, progress.bytes / BYTES_PER_TOKEN + 1) };
    let begun = (progress.bytes > 0).then(estimate);
    let usage = progress.usage.or(begun).or((price == Some(Price::FREE)).then(Usage::default))?;
    Some(priced(usage, price))
}

/// What a reply used, to a request of about so many tokens: what the model said, and an estimate of what it did not say.
/// Otherwise a model that never says it would never come to the end of a budget.
///
/// Nothing used at no cost is said by whoever gives a reply again that was paid for before.
pub(crate) fn completed(said: Option<Usage>, asked: u64, reply: &ModelReply, price: Option<Price>) -> Usage {
    let said = said.unwrap_or_default();
    let was_free = said.total_tokens() == 0 && said.cost == Some(Money::ZERO);
    let is_whole = said.input_tokens > 0 && said.output_tokens > 0;
    let usage = if was_free || is_whole {
        said
    } else {
        let or_about = |count: u64, estimate: u64| if count > 0 { count } else { estimate };
        Usage {
            input_tokens: or_about(said.input_tokens, asked),
            output_tokens: or_about(said.output_tokens, tokens_in(&reply.message.clone().into())),
            // A price makes no cost out of what is not known.
            cost: said.cost.filter(|_| price.is_none()),
            is_estimated: true,
            ..said
        }
    };
    priced(usage, price)
}

/// The same with its cost: what is estimated has none, unless it costs nothing.
fn priced(usage: Usage, price: Option<Price>) -> Usage {
    let price = price.filter(|price| !usage.is_estimated || *price == Price::FREE);
    Usage { cost: usage.cost.or_else(|| price.map(|price| price.of(&usage))), ..usage }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::message::Message;
    use crate::model::FinishReason;

    fn reply() -> ModelReply {
        ModelReply {
            message: Message::assistant("word ".repeat(40)),
            finish: FinishReason::Stop,
            usage: Usage::default(),
            model: "m".to_owned(),
            request_id: None,
        }
    }

    #[test]
    fn only_what_a_model_did_not_say_is_estimated() {
        let price = Price::new(Money::from_dollars(1), Money::from_dollars(1));
        let of = |said, price| completed(said, 70, &reply(), price);
        let told = of(Some(Usage::tokens(5, 6)), Some(price));
        assert_eq!(told, Usage { cost: Some(Money::from_micros(11)), ..Usage::tokens(5, 6) });
        let again = Usage { cost: Some(Money::ZERO), ..Usage::default() };
        assert_eq!(of(Some(again), Some(price)), again, "a reply that is given again uses nothing");
        for said in [None, Some(Usage::default())] {
            let usage = of(said, Some(price));
            assert!(usage.is_estimated && usage.input_tokens == 70 && usage.output_tokens > 50, "{usage:?}");
            assert_eq!(usage.cost, None);
        }
        let half = of(Some(Usage::tokens(5, 0)), Some(price));
        assert!(half.is_estimated && half.input_tokens == 5 && half.output_tokens > 50, "{half:?}");
        let other_half = of(Some(Usage::tokens(0, 6)), Some(price));
        assert_eq!(other_half, Usage { is_estimated: true, ..Usage::tokens(70, 6) });
        let dear = Usage { cost: Some(Money::from_cents(1)), ..Usage::tokens(5, 0) };
        assert_eq!(of(Some(dear), None).cost, dear.cost, "what it cost the model said");
        assert_eq!(of(Some(dear), Some(price)).cost, None, "a price makes no cost out of what is not known");
        assert_eq!((half.cost, of(None, Some(Price::FREE)).cost), (None, Some(Money::ZERO)));
    }

    #[test]
    fn a_request_is_about_a_token_for_four_bytes_of_all_that_is_sent_with_it() {
        let talk: Transcript = Message::user("a".repeat(400)).into();
        let bare = ModelRequest { messages: talk.clone(), ..ModelRequest::default() };
        assert_eq!(tokens_in(&talk), talk.encoded_len() as u64 / 4 + 1);
        assert_eq!(tokens_asked(&bare), tokens_in(&talk));
        // The tool has 4, 14 and 18 bytes, and the shape 18.
        let schema = serde_json::json!({"type": "integer"});
        let (name, description) = ("look".to_owned(), "d".repeat(14));
        let tool = crate::tool::ToolDefinition { name, description, parameters: schema.clone() };
        let full = ModelRequest { tools: vec![tool], ..bare.clone() };
        assert_eq!(tokens_asked(&full), tokens_in(&talk) + 9);
        let (name, description) = ("answer".to_owned(), String::new());
        let shape = crate::model::OutputSchema { name, description, schema };
        let shaped = ModelRequest { output: Some(shape), ..full };
        assert_eq!(tokens_asked(&shaped), tokens_in(&talk) + (36 + 18) / 4);
    }

    #[test]
    fn a_call_that_broke_off_used_what_the_model_said_or_about_what_it_had_said() {
        let price = Price::new(Money::from_dollars(1), Money::from_dollars(1));
        let of = |pieces: &[ReplyDelta], price| {
            let mut progress = ReplyProgress::default();
            pieces.iter().for_each(|piece| progress.note(piece));
            broken_off(&progress, 70, price)
        };
        assert_eq!(of(&[], Some(price)), None, "nobody knows");
        assert_eq!(of(&[], Some(Price::FREE)).and_then(|usage| usage.cost), Some(Money::ZERO));
        let pieces = [ReplyDelta::Text("x".repeat(8)), ReplyDelta::Reasoning("y".repeat(12))];
        let about = of(&pieces, Some(price)).unwrap();
        assert_eq!(about, Usage { is_estimated: true, ..Usage::tokens(70, 6) }, "and nobody knows its cost");
        let said = [ReplyDelta::Text("x".into()), ReplyDelta::Usage(Usage::tokens(3, 4))];
        let told = of(&said, Some(price)).unwrap();
        assert_eq!(told, Usage { cost: Some(Money::from_micros(7)), ..Usage::tokens(3, 4) });
    }

    #[test]
    fn replies_of_older_journals_keep_what_they_were_recorded_with() {
        let json = serde_json::to_value(reply()).unwrap();
        assert_eq!(json["usage"], serde_json::json!({}), "as it always was");
        assert_eq!(serde_json::from_value::<ModelReply>(json).unwrap().usage, Usage::default());
    }
}
