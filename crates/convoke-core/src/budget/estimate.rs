//! Estimates of what a model call uses: before it is made, and after it if the model did not report its usage.

use super::BYTES_PER_TOKEN;
use crate::message::{Money, Transcript, Usage};
use crate::model::{ModelReply, ModelRequest, Price, ReplyDelta};

/// More than this no token has on the average of a reply: who says less has not counted it.
const MOST_BYTES_PER_TOKEN: u64 = 40;

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
#[derive(Debug)]
pub(crate) struct ReplyProgress {
    /// About how many tokens each attempt at it is sent.
    asked: u64,
    /// What the model said that it and all attempts before have used.
    said: Option<Usage>,
    /// About what attempts used that broke off before the model said it: they were paid for like any other.
    unsaid: Option<Usage>,
    /// Whether the model has said what the attempt under way used.
    is_said: bool,
    /// How much came of the attempt under way.
    bytes: u64,
}

impl ReplyProgress {
    /// Nothing has come yet of a request of about so many tokens.
    pub(crate) fn new(asked: u64) -> Self {
        Self { asked, said: None, unsaid: None, is_said: false, bytes: 0 }
    }

    /// One more piece.
    pub(crate) fn note(&mut self, piece: &ReplyDelta) {
        match piece {
            ReplyDelta::Usage(usage) => (self.said, self.is_said) = (Some(*usage), true),
            ReplyDelta::Text(text)
            | ReplyDelta::Reasoning(text)
            | ReplyDelta::ToolCallArguments { delta: text, .. } => self.bytes += text.len() as u64,
            ReplyDelta::Restarted { .. } => {
                self.unsaid = self.unsaid_so_far();
                (self.is_said, self.bytes) = (false, 0);
            }
            _ => {}
        }
    }

    /// About what was used that the model did not say, if the attempt under way breaks off now.
    fn unsaid_so_far(&self) -> Option<Usage> {
        let written = self.bytes / BYTES_PER_TOKEN + 1;
        let begun = match self.said.filter(|_| self.is_said) {
            None if self.bytes > 0 => Some(Usage::tokens(self.asked, written)),
            // Some say at the beginning what they have read, and only at the end what they wrote.
            Some(said) if self.bytes / MOST_BYTES_PER_TOKEN > said.output_tokens => {
                Some(Usage::tokens(0, written))
            }
            _ => None,
        };
        let begun = begun.map(|usage| Usage { is_estimated: true, ..usage });
        self.unsaid.into_iter().chain(begun).reduce(|one, two| one + two)
    }
}

/// What a call used that failed: what the model said; what it did not say and had begun is estimated. Of one that never
/// answered nobody knows, unless the model costs nothing.
pub(crate) fn broken_off(progress: &ReplyProgress, price: Option<Price>) -> Option<Usage> {
    let usage = together(progress.said, progress.unsaid_so_far());
    let usage = usage.or((price == Some(Price::FREE)).then(Usage::default))?;
    Some(priced(usage, price))
}

/// What a reply used: what the model said, and an estimate of what it did not say. Otherwise a model that never says it would
/// never come to the end of a budget.
///
/// Nothing used at no cost is said by whoever gives a reply again that was paid for before.
pub(crate) fn completed(progress: &ReplyProgress, reply: &ModelReply, price: Option<Price>) -> Usage {
    let said = progress.said.unwrap_or_default();
    let was_free = progress.is_said && said.total_tokens() == 0 && said.cost == Some(Money::ZERO);
    let is_whole = progress.is_said && said.input_tokens > 0 && said.output_tokens > 0;
    let usage = if was_free || is_whole {
        said
    } else {
        // What was said of attempts before says nothing of this one.
        let (before, said) = if progress.is_said { (None, said) } else { (progress.said, Usage::default()) };
        let or_about = |count: u64, estimate: u64| if count > 0 { count } else { estimate };
        let this = Usage {
            input_tokens: or_about(said.input_tokens, progress.asked),
            output_tokens: or_about(said.output_tokens, tokens_in(&reply.message.clone().into())),
            // A price makes no cost out of what is not known.
            cost: said.cost.filter(|_| price.is_none()),
            is_estimated: true,
            ..said
        };
        before.map_or(this, |before| Usage { cost: None, ..before + this })
    };
    priced(together(Some(usage), progress.unsaid).unwrap_or(usage), price)
}

/// What was said and what was not. A cost that is known in part would look like the whole.
fn together(said: Option<Usage>, unsaid: Option<Usage>) -> Option<Usage> {
    match (said, unsaid) {
        (Some(said), Some(unsaid)) => Some(Usage { cost: None, ..said + unsaid }),
        (said, unsaid) => said.or(unsaid),
    }
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
        let of = |said: Option<Usage>, price| {
            let mut progress = ReplyProgress::new(70);
            said.iter().for_each(|said| progress.note(&ReplyDelta::Usage(*said)));
            completed(&progress, &reply(), price)
        };
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
            let mut progress = ReplyProgress::new(70);
            pieces.iter().for_each(|piece| progress.note(piece));
            broken_off(&progress, price)
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
    fn attempts_that_broke_off_count_like_any_other() {
        let price = Some(Price::new(Money::from_dollars(1), Money::from_dollars(1)));
        let text = |bytes: usize| ReplyDelta::Text("x".repeat(bytes));
        let anew = || ReplyDelta::Restarted { model: "m".to_owned(), reason: "cut off".to_owned() };
        let after = |pieces: &[ReplyDelta]| {
            let mut progress = ReplyProgress::new(70);
            pieces.iter().for_each(|piece| progress.note(piece));
            progress
        };
        let about = |input, output| Usage { is_estimated: true, ..Usage::tokens(input, output) };
        let told = || ReplyDelta::Usage(Usage::tokens(5, 6));
        let of_reply = |pieces: &[ReplyDelta]| completed(&after(pieces), &reply(), price);
        assert_eq!(
            of_reply(&[text(400), anew(), text(40), anew(), told()]),
            about(70 + 70 + 5, 101 + 11 + 6)
        );
        assert_eq!(of_reply(&[anew(), told()]).cost, Some(Money::from_micros(11)), "nothing had come");
        assert!(!of_reply(&[told(), text(8), anew(), told()]).is_estimated, "it was said");
        let last = of_reply(&[told(), text(8), anew(), text(160)]);
        assert!(last.is_estimated && last.input_tokens == 75 && last.output_tokens > 50, "{last:?}");
        let broken = |pieces: &[ReplyDelta]| broken_off(&after(pieces), price).unwrap();
        assert_eq!(broken(&[text(400), anew(), text(40), anew()]), about(140, 112));
        assert_eq!(broken(&[told(), text(8), anew(), text(40)]), about(75, 17));
        let early = ReplyDelta::Usage(Usage::tokens(50, 1));
        assert_eq!(broken(&[early, text(4_000)]), about(50, 1_002), "it was said before it wrote");
    }

    #[test]
    fn replies_of_older_journals_keep_what_they_were_recorded_with() {
        let json = serde_json::to_value(reply()).unwrap();
        assert_eq!(json["usage"], serde_json::json!({}), "as it always was");
        assert_eq!(serde_json::from_value::<ModelReply>(json).unwrap().usage, Usage::default());
    }
}
