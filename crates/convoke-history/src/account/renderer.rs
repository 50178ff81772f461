//! Rendering of an effect with all its texts.

use std::collections::HashMap;

use convoke_core::{Media, MediaSource, Message, Part, Path, Role, sort_keys};

use super::{TextBlock, answer_text, question_blocks};
use crate::{Attempt, Detail, Effect, History, PromptDelta, PromptDeltas, Tone, human};

/// JSON up to this length is shown in one line.
const ONE_LINE: usize = 60;

/// The side of an effect to render.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EffectSide {
    /// What was asked.
    Asked,
    /// What came of it.
    Given,
    /// Both.
    Both,
}

/// Renders effects one after the other; of each conversation only what is new.
#[derive(Debug)]
pub struct EffectRenderer<'a> {
    prompts: PromptDeltas<'a>,
    /// The last reply at each place: an agent's next turn has a path of its own.
    said: HashMap<Path, Message>,
}

impl<'a> EffectRenderer<'a> {
    /// Renders effects of this run.
    #[must_use]
    pub fn new(history: &'a History) -> Self {
        Self { prompts: history.conversations.prompts(), said: HashMap::new() }
    }

    /// The texts of one attempt at an effect.
    pub fn render(&mut self, effect: &Effect, attempt: &Attempt, side: EffectSide) -> Vec<TextBlock> {
        let mut blocks = Vec::new();
        if side != EffectSide::Given {
            self.asked(effect, attempt, &mut blocks);
        }
        if side != EffectSide::Asked {
            self.given(effect, attempt, &mut blocks);
        }
        blocks
    }

    fn asked(&mut self, effect: &Effect, attempt: &Attempt, blocks: &mut Vec<TextBlock>) {
        match &attempt.detail {
            Detail::Model { messages, .. } => match self.prompts.next(&effect.path, *messages) {
                Some(PromptDelta { messages: new, .. }) => {
                    // The model's own last reply is part of the conversation by now; it was told already.
                    let said = self.said.remove(&effect.path.without_repetitions());
                    let echo = said.filter(|said| new.first() == Some(said));
                    blocks.extend(new.iter().skip(usize::from(echo.is_some())).flat_map(message));
                }
                None => {
                    blocks.push(TextBlock::new("prompt", "(not in the store any more)").toned(Tone::Caution))
                }
            },
            Detail::Tool { tool, arguments, .. } => {
                blocks.push(TextBlock::new("call", format!("{tool} {}", pretty(arguments))));
            }
            Detail::Ask { question, .. } => blocks.extend(question_blocks(question)),
            Detail::Receive { channel, .. } => blocks.push(TextBlock::new("channel", channel.clone())),
            Detail::Sleep { duration } => blocks.push(TextBlock::new("wait", human::duration(*duration))),
            Detail::Custom { name, request, .. } => {
                let request = if request.is_null() { String::new() } else { format!(" {}", pretty(request)) };
                blocks.push(TextBlock::new("call", format!("{name}{request}")));
            }
            Detail::Unreadable { request: Some(request), .. } => {
                blocks.push(TextBlock::new("request", pretty(request)))
            }
            _ => {}
        }
    }

    fn given(&mut self, effect: &Effect, attempt: &Attempt, blocks: &mut Vec<TextBlock>) {
        if let Some(error) = &attempt.error {
            blocks.push(TextBlock::new("error", error.to_string()).toned(Tone::Bad));
        }
        match &attempt.detail {
            Detail::Model { reply: Some(reply), .. } => {
                let parts = reply.message.parts.iter();
                blocks.extend(parts.map(|said| part("reply", said)));
                self.said.insert(effect.path.without_repetitions(), reply.message.clone());
            }
            Detail::Tool { result: Some(result), .. } => {
                let (label, tone) =
                    if result.is_error { ("error", Tone::Bad) } else { ("result", Tone::Plain) };
                blocks.push(TextBlock::new(label, result.content.clone()).toned(tone));
            }
            Detail::Ask { answer: Some(given), .. } => {
                blocks.push(TextBlock::new("answer", answer_text(given)))
            }
            Detail::Now { time: Some(time) } => blocks.push(TextBlock::new("time", time.to_string())),
            Detail::Custom { value: Some(value), .. } => blocks.push(TextBlock::new("result", pretty(value))),
            Detail::Decision { choice: Some(choice) } => {
                blocks.push(TextBlock::new("choice", pretty(choice)))
            }
            Detail::Unreadable { outcome: Some(outcome), .. } => {
                blocks.push(TextBlock::new("outcome", pretty(outcome)))
            }
            _ => {}
        }
    }
}

fn message(message: &Message) -> impl Iterator<Item = TextBlock> {
    let label = match message.role {
        Role::System => "system",
        Role::User => "user",
        Role::Assistant => "assistant",
        Role::Tool => "tool",
    };
    message.parts.iter().map(move |said| part(label, said))
}

fn part(label: &'static str, part: &Part) -> TextBlock {
    match part {
        Part::Text { text } => TextBlock::new(label, text.clone()),
        Part::Reasoning { text, .. } => TextBlock::new("thought", text.clone()).toned(Tone::Faint),
        Part::ToolCall(call) => TextBlock::new("call", format!("{} {}", call.name, pretty(&call.arguments))),
        Part::ToolResult(result) => {
            let tone = if result.is_error { Tone::Bad } else { Tone::Plain };
            TextBlock::new(label, format!("{}: {}", result.name, result.content)).toned(tone)
        }
        Part::Image(media) => TextBlock::new(label, described("image", media)).toned(Tone::Faint),
        Part::File(media) => TextBlock::new(label, described("file", media)).toned(Tone::Faint),
        _ => TextBlock::new(label, "(a part this version cannot show)").toned(Tone::Caution),
    }
}

fn described(kind: &str, media: &Media) -> String {
    let name = media.name.as_ref().map(|name| format!(" {name}")).unwrap_or_default();
    let source = match &media.source {
        MediaSource::Url(url) => format!("at {url}"),
        MediaSource::Base64(data) => format!("of about {} bytes", data.len() / 4 * 3),
    };
    format!("({kind}{name}, {}, {source})", media.media_type)
}

/// Text as it is, anything else as readable JSON: in one line if it is short.
fn pretty(value: &serde_json::Value) -> String {
    if let serde_json::Value::String(text) = value {
        return text.clone();
    }
    let mut value = value.clone();
    sort_keys(&mut value);
    let compact = value.to_string();
    if compact.len() <= ONE_LINE {
        return compact;
    }
    serde_json::to_string_pretty(&value).unwrap_or(compact)
}
