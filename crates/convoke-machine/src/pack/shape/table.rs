//! The format: every object of a pack, its fields, and which dialect knows or wants them.

use super::field::{Field, Object, Shape, closed, known_by, open, optional, required};
use super::{object, rule};
use crate::pack::dialect::Dialects;

use Shape::{Any, Checked, Custom, Fields, List, Names, NullOr, Number, OneOf, Text, Truth, Whole};

const V1_4: Dialects = Dialects::V1_4;
const V1_5: Dialects = Dialects::V1_5;
const BOTH: Dialects = Dialects::BOTH;
const NEITHER: Dialects = Dialects::NEITHER;
const TEXTS: Shape = List(&Text, 0);
const OPEN: Shape = Names(&Any, 0);
const VERSION_EXAMPLE: &str = "\"1.0.0\"";

pub(super) static PACK: Object = closed(
    "a pack",
    &[
        optional("$schema", Text),
        required("id", Checked(rule::pack_id), "\"customer-support\""),
        required("name", Checked(rule::title), "\"Customer support\""),
        required("version", Checked(rule::version), VERSION_EXAMPLE),
        optional("description", Checked(rule::description)),
        required(
            "template_engine",
            Fields(&TEMPLATE_ENGINE),
            "{\"version\": \"v1\", \"syntax\": \"{{variable}}\"}",
        ),
        required("prompts", Names(&Fields(&PROMPT), 1), "{…}, with at least one prompt in it"),
        optional("fragments", Names(&Text, 0)),
        optional("tools", Names(&Fields(&TOOL), 0)),
        optional("metadata", Fields(&METADATA)),
        optional("compilation", Fields(&COMPILATION)),
        optional("evals", List(&Fields(&EVAL), 0)),
        optional("workflow", Fields(&WORKFLOW)),
        known_by("compositions", Names(&Fields(&COMPOSITION), 0), V1_5),
        optional("agents", Fields(&AGENTS)),
        optional("skills", List(&Custom(object::skill), 0)),
    ],
);

static TEMPLATE_ENGINE: Object = closed(
    "the template engine",
    &[
        required("version", Text, "\"v1\""),
        required("syntax", Text, "\"{{variable}}\""),
        optional(
            "features",
            List(&OneOf(&["basic_substitution", "fragments", "conditionals", "loops", "filters"], BOTH), 0),
        ),
    ],
);

static METADATA: Object = open(
    "the metadata",
    &[
        optional("domain", Text),
        optional("language", Checked(rule::language)),
        optional("tags", TEXTS),
        optional("cost_estimate", Fields(&COST_ESTIMATE)),
    ],
);

const POSITIVE: Shape = Number(0.0, f64::INFINITY);

static COST_ESTIMATE: Object = open(
    "the estimate",
    &[
        optional("min_cost_usd", POSITIVE),
        optional("max_cost_usd", POSITIVE),
        optional("avg_cost_usd", POSITIVE),
    ],
);

static COMPILATION: Object = open(
    "the note on the compilation",
    &[
        required("compiled_with", Text, "\"convoke\""),
        required("created_at", Text, "\"2026-01-01T00:00:00Z\""),
        required("schema", Text, "\"1.5.0\""),
        optional("source", Text),
    ],
);

pub(super) static PROMPT: Object = closed(
    "a prompt",
    &[
        required("id", Checked(rule::prompt_id), "\"first_reply\""),
        required("name", Checked(rule::filled), "\"First reply\""),
        optional("description", Text),
        required("version", Checked(rule::version), VERSION_EXAMPLE),
        required("system_template", Checked(rule::filled), "\"You are …\""),
        optional("variables", List(&Fields(&VARIABLE), 0)),
        known_by("fragments", List(&Fields(&FRAGMENT), 0), NEITHER),
        optional("tools", TEXTS),
        optional("tool_policy", Fields(&TOOL_POLICY)),
        optional("pipeline", Fields(&PIPELINE)),
        optional("parameters", Fields(&PARAMETERS)),
        optional("validators", List(&Fields(&VALIDATOR), 0)),
        optional("evals", List(&Fields(&EVAL), 0)),
        optional("tested_models", List(&Fields(&TESTED_MODEL), 0)),
        optional("model_overrides", Names(&Fields(&MODEL_OVERRIDE), 0)),
        optional("media", Fields(&MEDIA)),
    ],
);

static FRAGMENT: Object = closed(
    "the use of a fragment",
    &[required("name", Checked(rule::filled), "\"greeting\""), optional("required", Truth)],
);

static VARIABLE: Object = closed(
    "a variable",
    &[
        required("name", Checked(rule::identifier), "\"customer\""),
        required("type", OneOf(&["string", "number", "boolean", "object", "array"], V1_5), "\"string\""),
        required("required", Truth, "true"),
        optional("default", Any),
        optional("description", Text),
        optional("example", Any),
        optional("validation", Fields(&VALIDATION)),
        known_by("binding", Fields(&BINDING), V1_4),
    ],
);

static VALIDATION: Object = closed(
    "the rules of a variable",
    &[
        optional("pattern", Text),
        optional("min_length", Whole(0)),
        optional("max_length", Whole(1)),
        optional("minimum", Number(f64::NEG_INFINITY, f64::INFINITY)),
        optional("maximum", Number(f64::NEG_INFINITY, f64::INFINITY)),
        optional("enum", List(&Any, 0)),
    ],
);

static BINDING: Object = closed(
    "a binding",
    &[
        optional("kind", Text),
        optional("field", Text),
        optional("auto_populate", Truth),
        optional("filter", Text),
    ],
);

static TOOL: Object = closed(
    "a tool",
    &[
        required("name", Checked(rule::identifier), "\"look_up_order\""),
        required("description", Checked(rule::filled), "\"Looks up an order\""),
        optional("parameters", Fields(&TOOL_PARAMETERS)),
    ],
);

static TOOL_PARAMETERS: Object = open(
    "the schema of a tool's arguments",
    &[
        required("type", OneOf(&["object"], BOTH), "\"object\""),
        required("properties", Names(&OPEN, 0), "{}"),
        optional("required", TEXTS),
    ],
);

static TOOL_POLICY: Object = closed(
    "the policy for tools",
    &[
        optional("tool_choice", OneOf(&["auto", "required", "none"], BOTH)),
        optional("max_rounds", Whole(1)),
        optional("max_tool_calls_per_turn", Whole(1)),
        optional("blocklist", TEXTS),
    ],
);

static PIPELINE: Object = closed(
    "a pipeline",
    &[required("stages", TEXTS, "[]"), optional("middleware", List(&Fields(&MIDDLEWARE), 0))],
);

static MIDDLEWARE: Object =
    closed("a middleware", &[required("type", Text, "\"…\""), optional("config", OPEN)]);

static PARAMETERS: Object = closed(
    "the parameters of a model",
    &[
        optional("temperature", Number(0.0, 2.0)),
        optional("max_tokens", Whole(1)),
        optional("top_p", Number(0.0, 1.0)),
        optional("top_k", NullOr(&Whole(1))),
        optional("frequency_penalty", Number(-2.0, 2.0)),
        optional("presence_penalty", Number(-2.0, 2.0)),
    ],
);

static VALIDATOR: Object = closed(
    "a validator",
    &[
        required("type", Checked(rule::filled), "\"max_length\""),
        Field { name: "enabled", shape: Truth, required: V1_5, known: BOTH, example: "true" },
        known_by("message", Text, V1_4),
        optional("fail_on_violation", Truth),
        optional("params", OPEN),
    ],
);

static TESTED_MODEL: Object = closed(
    "a tested model",
    &[
        required("provider", Text, "\"…\""),
        required("model", Text, "\"…\""),
        required("date", Text, "\"2026-01-01\""),
        optional("success_rate", Number(0.0, 1.0)),
        optional("avg_tokens", POSITIVE),
        optional("avg_cost", POSITIVE),
        optional("avg_latency_ms", POSITIVE),
        optional("notes", Text),
    ],
);

static MODEL_OVERRIDE: Object = closed(
    "what holds for one model",
    &[
        optional("system_template_prefix", Text),
        optional("system_template_suffix", Text),
        optional("system_template", Text),
        optional("parameters", Fields(&PARAMETERS)),
    ],
);

static MEDIA: Object = open(
    "the settings for media",
    &[
        required("enabled", Truth, "true"),
        optional("supported_types", List(&Checked(rule::media_type), 0)),
        optional("image", Fields(&IMAGE)),
        optional("audio", Fields(&AUDIO)),
        optional("video", Fields(&VIDEO)),
        optional("document", OPEN),
        optional("examples", List(&OPEN, 0)),
    ],
);

const DETAIL: Shape = OneOf(&["low", "high", "auto"], V1_5);

static IMAGE: Object = closed(
    "the settings for images",
    &[
        optional("max_size_mb", Whole(1)),
        optional("allowed_formats", List(&OneOf(&["jpeg", "jpg", "png", "webp", "gif", "bmp"], V1_5), 0)),
        optional("default_detail", DETAIL),
        optional("require_caption", Truth),
        optional("max_images_per_msg", Whole(1)),
    ],
);

static AUDIO: Object = closed(
    "the settings for audio",
    &[
        optional("max_size_mb", Whole(1)),
        optional(
            "allowed_formats",
            List(&OneOf(&["mp3", "wav", "opus", "flac", "m4a", "aac", "ogg"], V1_5), 0),
        ),
        optional("max_duration_sec", Whole(1)),
        optional("require_metadata", Truth),
    ],
);

static VIDEO: Object = closed(
    "the settings for video",
    &[
        optional("max_size_mb", Whole(1)),
        optional("allowed_formats", List(&OneOf(&["mp4", "webm", "mov", "avi", "mkv"], V1_5), 0)),
        optional("max_duration_sec", Whole(1)),
        optional("require_metadata", Truth),
    ],
);

static EVAL: Object = closed(
    "an eval",
    &[
        required("id", Checked(rule::filled), "\"tone\""),
        optional("description", Text),
        required("type", Checked(rule::filled), "\"contains\""),
        required(
            "trigger",
            OneOf(&["every_turn", "on_session_complete", "sample_turns", "sample_sessions"], V1_5),
            "\"every_turn\"",
        ),
        optional("sample_percentage", Number(0.0, 100.0)),
        optional("enabled", Truth),
        optional("params", OPEN),
        optional("metric", Fields(&METRIC)),
        known_by("threshold", Fields(&THRESHOLD), V1_4),
        known_by("message", Text, V1_4),
        known_by("when", OPEN, V1_4),
        known_by("groups", TEXTS, V1_4),
    ],
);

/// Scores and passing are what the original's runtime reads; the schemas have an operator and a value.
static THRESHOLD: Object = closed(
    "a threshold",
    &[
        optional("operator", Text),
        optional("value", Number(f64::NEG_INFINITY, f64::INFINITY)),
        known_by("passed", Truth, NEITHER),
        known_by("min_score", Number(f64::NEG_INFINITY, f64::INFINITY), NEITHER),
        known_by("max_score", Number(f64::NEG_INFINITY, f64::INFINITY), NEITHER),
    ],
);

static METRIC: Object = open(
    "a metric",
    &[
        required("name", Checked(rule::metric_name), "\"reply_tone\""),
        required("type", OneOf(&["gauge", "counter", "histogram", "boolean"], BOTH), "\"gauge\""),
        optional("range", OPEN),
        optional("labels", OPEN),
    ],
);

static WORKFLOW: Object = closed(
    "a workflow",
    &[
        required("version", Whole(1), "1"),
        required("entry", Text, "\"intake\""),
        required("states", Names(&Fields(&STATE), 1), "{…}, with at least one state in it"),
        optional("engine", Fields(&ENGINE)),
    ],
);

static STATE: Object = Object {
    title: "a state",
    fields: &[
        Field { name: "prompt_task", shape: Text, required: V1_4, known: BOTH, example: "\"…\"" },
        optional("description", Text),
        optional("on_event", Names(&Text, 0)),
        optional("persistence", OneOf(&["transient", "persistent"], V1_5)),
        optional("orchestration", OneOf(&["internal", "external", "hybrid", "composition"], V1_5)),
        known_by("composition", Text, V1_5),
        optional("skills", Text),
        optional("terminal", Truth),
        optional("max_visits", Whole(1)),
        optional("on_max_visits", Text),
        optional("artifacts", Names(&Fields(&ARTIFACT), 0)),
    ],
    closed_to: BOTH,
    also: Some(object::state),
};

static ARTIFACT: Object = closed(
    "an artifact",
    &[
        required("type", Text, "\"text/plain\""),
        optional("description", Text),
        optional("mode", OneOf(&["replace", "append"], BOTH)),
    ],
);

static ENGINE: Object = open("the engine", &[optional("budget", Custom(object::budget))]);

static COMPOSITION: Object = closed(
    "a composition",
    &[
        required("version", Whole(1), "1"),
        optional("description", Text),
        optional("input_schema", Text),
        optional("output_schema", Text),
        optional("output", Text),
        required("steps", List(&Fields(&STEP), 1), "[…], with at least one step in it"),
        optional("engine", OPEN),
    ],
);

pub(super) static STEP: Object = Object {
    title: "a step",
    fields: &[
        required("id", Checked(rule::identifier), "\"classify\""),
        required("kind", OneOf(&["prompt", "agent", "tool", "branch", "parallel"], BOTH), "\"prompt\""),
        optional("description", Text),
        optional("depends_on", TEXTS),
        optional("modifiers", Fields(&MODIFIERS)),
        optional("prompt_task", Checked(rule::filled)),
        optional("input", Custom(object::step_input)),
        optional("output_schema", Text),
        optional("tools", TEXTS),
        optional("termination", Fields(&TERMINATION)),
        optional("tool", Checked(rule::filled)),
        optional("args", OPEN),
        optional("predicate", OPEN),
        optional("then", Text),
        optional("else", Text),
        optional("branches", List(&Fields(&STEP), 2)),
        optional("reduce", Fields(&REDUCE)),
    ],
    closed_to: V1_4,
    also: Some(object::step),
};

static MODIFIERS: Object =
    open("the modifiers of a step", &[optional("retry", Fields(&RETRY)), optional("eval", TEXTS)]);

static RETRY: Object = open("a retry", &[optional("max_attempts", Whole(1))]);

static TERMINATION: Object = open(
    "the end of an agent's work",
    &[optional("max_steps", Whole(1)), optional("tool_called", Checked(rule::filled))],
);

static REDUCE: Object = open(
    "a reduction",
    &[
        required("strategy", OneOf(&["append", "replace", "barrier"], BOTH), "\"barrier\""),
        required("into", Checked(rule::filled), "\"results\""),
    ],
);

static AGENTS: Object = closed(
    "the agents",
    &[
        required("entry", Text, "\"…\""),
        required("members", Names(&Fields(&AGENT), 1), "{…}, with at least one agent in it"),
    ],
);

static AGENT: Object = closed(
    "an agent",
    &[
        optional("description", Text),
        optional("tags", TEXTS),
        optional("input_modes", TEXTS),
        optional("output_modes", TEXTS),
        known_by("state", Text, V1_5),
    ],
);

pub(super) static SKILL_FOLDER: Object =
    closed("a skill", &[optional("path", Text), known_by("dir", Text, NEITHER), optional("preload", Truth)]);

pub(super) static INLINE_SKILL: Object = closed(
    "a skill",
    &[
        required("name", Checked(rule::filled), "\"refunds\""),
        required("description", Checked(rule::filled), "\"When and how money is given back\""),
        required("instructions", Checked(rule::filled), "\"…\""),
        known_by("preload", Truth, NEITHER),
    ],
);

pub(super) static BUDGET: Object = closed(
    "a budget",
    &[
        optional("max_total_visits", Whole(1)),
        optional("max_tool_calls", Whole(1)),
        optional("max_wall_time_sec", Whole(1)),
    ],
);
