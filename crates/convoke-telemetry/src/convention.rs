//! Names of spans, metrics and attributes. `gen_ai.*` and `error.type` are those of OpenTelemetry's conventions for generative AI (of autumn
//! 2026, still called "development" by their authors); `convoke.*` are our own.

/// The operation: `invoke_workflow`, `invoke_agent`, `chat` or `execute_tool`.
pub const OPERATION: &str = "gen_ai.operation.name";
/// The provider of the model.
pub const PROVIDER: &str = "gen_ai.provider.name";
/// The model that was asked.
pub const REQUEST_MODEL: &str = "gen_ai.request.model";
/// The most tokens it may write.
pub const REQUEST_MAX_TOKENS: &str = "gen_ai.request.max_tokens";
/// Randomness.
pub const REQUEST_TEMPERATURE: &str = "gen_ai.request.temperature";
/// Only the likeliest tokens.
pub const REQUEST_TOP_P: &str = "gen_ai.request.top_p";
/// The seed of randomness.
pub const REQUEST_SEED: &str = "gen_ai.request.seed";
/// The sequences it stops at.
pub const REQUEST_STOP: &str = "gen_ai.request.stop_sequences";
/// `json` if the answer must have a shape.
pub const OUTPUT_TYPE: &str = "gen_ai.output.type";
/// The model that answered.
pub const RESPONSE_MODEL: &str = "gen_ai.response.model";
/// The provider's id for the request.
pub const RESPONSE_ID: &str = "gen_ai.response.id";
/// The reasons why it stopped.
pub const FINISH_REASONS: &str = "gen_ai.response.finish_reasons";
/// Tokens read.
pub const INPUT_TOKENS: &str = "gen_ai.usage.input_tokens";
/// Tokens written.
pub const OUTPUT_TOKENS: &str = "gen_ai.usage.output_tokens";
/// Of those read, from the provider's cache.
pub const CACHE_READ_TOKENS: &str = "gen_ai.usage.cache_read.input_tokens";
/// Of those read, written to the provider's cache.
pub const CACHE_WRITE_TOKENS: &str = "gen_ai.usage.cache_creation.input_tokens";
/// Of those written, thoughts.
pub const REASONING_TOKENS: &str = "gen_ai.usage.reasoning.output_tokens";
/// `input` or `output`.
pub const TOKEN_TYPE: &str = "gen_ai.token.type";
/// The agent.
pub const AGENT: &str = "gen_ai.agent.name";
/// The workflow.
pub const WORKFLOW: &str = "gen_ai.workflow.name";
/// The conversation: the run.
pub const CONVERSATION: &str = "gen_ai.conversation.id";
/// The tool.
pub const TOOL: &str = "gen_ai.tool.name";
/// The kind of tool: always `function`.
pub const TOOL_TYPE: &str = "gen_ai.tool.type";
/// The call of the tool.
pub const TOOL_CALL: &str = "gen_ai.tool.call.id";
/// The arguments of a call. Only if content is recorded.
pub const TOOL_ARGUMENTS: &str = "gen_ai.tool.call.arguments";
/// The result of a call. Only if content is recorded.
pub const TOOL_RESULT: &str = "gen_ai.tool.call.result";
/// The messages to the model. Only if content is recorded.
pub const INPUT_MESSAGES: &str = "gen_ai.input.messages";
/// The messages of the model. Only if content is recorded.
pub const OUTPUT_MESSAGES: &str = "gen_ai.output.messages";
/// The kind of failure.
pub const ERROR_TYPE: &str = "error.type";

/// The run.
pub const RUN: &str = "convoke.run.id";
/// The status the run ended with.
pub const RUN_STATUS: &str = "convoke.run.status";
/// True if the run had been started before.
pub const RESUMED: &str = "convoke.resumed";
/// The path in the run.
pub const PATH: &str = "convoke.path";
/// The step's kind.
pub const STEP_KIND: &str = "convoke.step.kind";
/// The step's name.
pub const STEP_NAME: &str = "convoke.step.name";
/// `suspended` if the step waits for an answer.
pub const STEP_END: &str = "convoke.step.end";
/// The cost, in US dollars.
pub const COST: &str = "convoke.cost.usd";
/// The question.
pub const QUESTION: &str = "convoke.question.id";
/// The question's kind.
pub const QUESTION_KIND: &str = "convoke.question.kind";
/// The question itself. Only if content is recorded.
pub const QUESTION_TITLE: &str = "convoke.question.title";
/// True if the question was answered.
pub const QUESTION_ANSWERED: &str = "convoke.question.answered";
/// The decision: approve, reject, …
pub const QUESTION_DECISION: &str = "convoke.question.decision";
/// The number of messages that were left out of the recorded ones, for their size.
pub const MESSAGES_LEFT_OUT: &str = "convoke.content.messages_left_out";
/// The thing that was tried again: `step` or `model`.
pub const RETRIED: &str = "convoke.retried";
