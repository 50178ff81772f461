//! Renders requests as the prompt a model reads.

mod control;
mod conversation;
mod instructions;
mod python_json;
mod template;

use convoke_core::{ModelError, ModelErrorKind, ModelRequest, ToolChoice, ToolDefinition};

pub use control::{ControlTokens, Piece};
use conversation::TemplateConversation;
pub use template::ChatTemplate;

/// The tools a request offers: none if it forbids calling them.
pub(crate) fn offered_tools(request: &ModelRequest) -> &[ToolDefinition] {
    if request.tool_choice == ToolChoice::None { &[] } else { &request.tools }
}

impl ChatTemplate {
    /// The prompt for a request, up to where the model's answer begins.
    ///
    /// What users and tools wrote comes out as [`Piece::Literal`] where it looks like one of the `control` tokens.
    ///
    /// ```
    /// use convoke_core::ModelRequest;
    /// use convoke_local::{ChatTemplate, ControlTokens};
    ///
    /// let source = "{% for m in messages %}<|{{ m.role }}|>{{ m.content }}{% endfor %}<|assistant|>";
    /// let template = ChatTemplate::new(source, "", "")?;
    /// let pieces = template.prompt(&ModelRequest::new("Hello"), &ControlTokens::default())?;
    /// assert_eq!(pieces[0].text(), "<|user|>Hello<|assistant|>");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// [`ModelErrorKind::InvalidRequest`] if the conversation has parts that are not text, or the template refuses it.
    pub fn prompt(&self, request: &ModelRequest, control: &ControlTokens) -> Result<Vec<Piece>, ModelError> {
        let tools = offered_tools(request);
        let native = self.calls_tools();
        let mut conversation = if native {
            TemplateConversation::with_calls(request.messages.iter(), self.results_in_words())?
        } else {
            TemplateConversation::without_calls(request.messages.iter())?
        };
        if !tools.is_empty() && !native {
            conversation.instruct(&instructions::tools_text(tools));
        }
        if let Some(output) = &request.output {
            conversation.instruct(&instructions::output_text(output, !tools.is_empty()));
        }
        let described =
            (native && !tools.is_empty()).then(|| control.hide_in(&instructions::tools_value(tools)));
        let render = |conversation: TemplateConversation| {
            let messages: Vec<_> =
                conversation.into_values().iter().map(|turn| control.hide_in(turn)).collect();
            self.render(&messages, described.as_ref())
        };
        // Some templates refuse a system's message, or two messages of one role in a row.
        let rendered =
            render(conversation.clone()).or_else(|refusal| render(conversation.plain()).map_err(|_| refusal));
        let rendered = rendered.map_err(|refusal| {
            let reason = template::describe(&refusal);
            let message = format!("the model's chat template cannot render this conversation: {reason}");
            ModelError::new(ModelErrorKind::InvalidRequest, message)
        })?;
        Ok(control.pieces(&rendered))
    }
}
