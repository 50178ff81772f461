//! The format: every object of a pack, its fields, and which dialect knows or wants them.

use super::field::{Object, Shape, known_by, named, optional, required, required_by};
use super::{object, rule};
use crate::pack::dialect::{BOTH, NEITHER, V1_4, V1_5};

use Shape::{Any, Checked, Custom, Fields, Length, List, Names, NullOr, Number, OneOf, Text, Truth, Whole};

const TEXTS: Shape = List(&Text, 0);
const OPEN: Shape = Names(&Any, 0);
const FILLED: Shape = Length(1, usize::MAX);
const ANY_NUMBER: Shape = Number(f64::NEG_INFINITY, f64::INFINITY);
const FEATURES: &[&str] = &["basic_substitution", "fragments", "conditionals", "loops", "filters"];
const ENGINE_EXAMPLE: &str = "{\"version\": \"v1\", \"syntax\": \"{{variable}}\"}";
const VERSION_EXAMPLE: &str = "\"1.0.0\"";

pub(super) static PACK: Object = named("a pack").closed(&[
    optional("$schema", Text),
    required("id", Checked(&rule::PACK_ID), "\"customer-support\""),
    required("name", Length(1, 200), "\"Customer support\""),
    required("version", Checked(&rule::VERSION), VERSION_EXAMPLE),
    optional("description", Length(0, 5000)),
    required("template_engine", Fields(&TEMPLATE_ENGINE), ENGINE_EXAMPLE),
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
]);

static TEMPLATE_ENGINE: Object = named("the template engine").closed(&[
    required("version", Text, "\"v1\""),
    required("syntax", Text, "\"{{variable}}\""),
    optional("features", List(&OneOf(FEATURES, BOTH), 0)),
]);

static METADATA: Object = named("the metadata").open(&[
    optional("domain", Text),
    optional("language", Checked(&rule::LANGUAGE)),
    optional("tags", TEXTS),
    optional("cost_estimate", Fields(&COST_ESTIMATE)),
    optional("convoke", Fields(&CONVOKE)),
]);

/// Ours, in a place that the format leaves to whoever runs a pack.
static CONVOKE: Object = named("what Convoke is told").closed_to(NEITHER, &[optional("workflows", OPEN)]);

const POSITIVE: Shape = Number(0.0, f64::INFINITY);

static COST_ESTIMATE: Object =
    named("the estimate").open(&[optional("min_cost_usd max_cost_usd avg_cost_usd", POSITIVE)]);

static COMPILATION: Object = named("the note on the compilation").open(&[
    required("compiled_with", Text, "\"convoke\""),
    required("created_at", Text, "\"2026-01-01T00:00:00Z\""),
    required("schema", Text, "\"1.5.0\""),
    optional("source", Text),
]);

pub(super) static PROMPT: Object = named("a prompt").closed(&[
    required("id", Checked(&rule::PROMPT_ID), "\"first_reply\""),
    required("name", FILLED, "\"First reply\""),
    optional("description", Text),
    required("version", Checked(&rule::VERSION), VERSION_EXAMPLE),
    required("system_template", FILLED, "\"You are …\""),
    optional("variables", List(&Fields(&VARIABLE), 0)),
    known_by("fragments", List(&Fields(&FRAGMENT), 0), NEITHER),
    optional("tools", TEXTS),
    optional("tool_policy", Fields(&TOOL_POLICY)),
    optional("pipeline", Fields(&PIPELINE))
        .without_effect("the order of stages is fixed, so a pipeline has no effect"),
    optional("parameters", Fields(&PARAMETERS)),
    optional("validators", List(&Fields(&VALIDATOR), 0)),
    optional("evals", List(&Fields(&EVAL), 0)),
    optional("tested_models", List(&Fields(&TESTED_MODEL), 0)),
    optional("model_overrides", Names(&Fields(&MODEL_OVERRIDE), 0)),
    optional("media", Fields(&MEDIA))
        .without_effect("only text is sent to models, so settings for media have no effect"),
]);

static FRAGMENT: Object = named("the use of a fragment")
    .closed(&[required("name", FILLED, "\"greeting\""), optional("required", Truth)]);

static VARIABLE: Object = named("a variable").closed(&[
    required("name", Checked(&rule::IDENTIFIER), "\"customer\""),
    required("type", OneOf(&["string", "number", "boolean", "object", "array"], V1_5), "\"string\""),
    required("required", Truth, "true"),
    optional("default", Any),
    optional("description", Text),
    optional("example", Any),
    optional("validation", Fields(&VALIDATION)),
    known_by("binding", Fields(&BINDING), V1_4)
        .without_effect("variables are given by whoever runs the pack, so a binding has no effect"),
]);

static VALIDATION: Object = named("the rules of a variable").closed(&[
    optional("pattern", Text),
    optional("min_length", Whole(0)),
    optional("max_length", Whole(1)),
    optional("minimum maximum", ANY_NUMBER),
    optional("enum", List(&Any, 0)),
]);

static BINDING: Object =
    named("a binding").closed(&[optional("kind field filter", Text), optional("auto_populate", Truth)]);

static TOOL: Object = named("a tool").closed(&[
    required("name", Checked(&rule::IDENTIFIER), "\"look_up_order\""),
    required("description", FILLED, "\"Looks up an order\""),
    optional("parameters", Fields(&TOOL_PARAMETERS)),
]);

static TOOL_PARAMETERS: Object = named("the schema of a tool's arguments").open(&[
    required("type", OneOf(&["object"], BOTH), "\"object\""),
    required("properties", Names(&OPEN, 0), "{}"),
    optional("required", TEXTS),
]);

static TOOL_POLICY: Object = named("the policy for tools").closed(&[
    optional("tool_choice", OneOf(&["auto", "required", "none"], BOTH)),
    optional("max_rounds max_tool_calls_per_turn", Whole(1)),
    optional("blocklist", TEXTS),
]);

static PIPELINE: Object = named("a pipeline")
    .closed(&[required("stages", TEXTS, "[]"), optional("middleware", List(&Fields(&MIDDLEWARE), 0))]);

static MIDDLEWARE: Object =
    named("a middleware").closed(&[required("type", Text, "\"…\""), optional("config", OPEN)]);

static PARAMETERS: Object = named("the parameters of a model").closed(&[
    optional("temperature", Number(0.0, 2.0)),
    optional("max_tokens", Whole(1)),
    optional("top_p", Number(0.0, 1.0)),
    optional("top_k", NullOr(&Whole(1))),
    optional("frequency_penalty presence_penalty", Number(-2.0, 2.0)),
]);

static VALIDATOR: Object = named("a validator").closed(&[
    required("type", FILLED, "\"max_length\""),
    required_by("enabled", Truth, V1_5, "true"),
    known_by("message", Text, V1_4),
    optional("fail_on_violation", Truth),
    optional("params", OPEN),
]);

static TESTED_MODEL: Object = named("a tested model").closed(&[
    required("provider model", Text, "\"…\""),
    required("date", Text, "\"2026-01-01\""),
    optional("success_rate", Number(0.0, 1.0)),
    optional("avg_tokens avg_cost avg_latency_ms", POSITIVE),
    optional("notes", Text),
]);

static MODEL_OVERRIDE: Object = named("what holds for one model").closed(&[
    optional("system_template_prefix system_template_suffix system_template", Text),
    optional("parameters", Fields(&PARAMETERS)),
]);

static MEDIA: Object = named("the settings for media").open(&[
    required("enabled", Truth, "true"),
    optional("supported_types", List(&Checked(&rule::MEDIA_TYPE), 0)),
    optional("image", Fields(&IMAGE)),
    optional("audio", Fields(&AUDIO)),
    optional("video", Fields(&VIDEO)),
    optional("document", OPEN),
    optional("examples", List(&OPEN, 0)),
]);

static IMAGE: Object = named("the settings for images").closed(&[
    optional("max_size_mb max_images_per_msg", Whole(1)),
    optional("allowed_formats", List(&OneOf(&["jpeg", "jpg", "png", "webp", "gif", "bmp"], V1_5), 0)),
    optional("default_detail", OneOf(&["low", "high", "auto"], V1_5)),
    optional("require_caption", Truth),
]);

static AUDIO: Object = named("the settings for audio").closed(&[
    optional("max_size_mb max_duration_sec", Whole(1)),
    optional("allowed_formats", List(&OneOf(&["mp3", "wav", "opus", "flac", "m4a", "aac", "ogg"], V1_5), 0)),
    optional("require_metadata", Truth),
]);

static VIDEO: Object = named("the settings for video").closed(&[
    optional("max_size_mb max_duration_sec", Whole(1)),
    optional("allowed_formats", List(&OneOf(&["mp4", "webm", "mov", "avi", "mkv"], V1_5), 0)),
    optional("require_metadata", Truth),
]);

static EVAL: Object = named("an eval").closed(&[
    required("id", FILLED, "\"tone\""),
    optional("description", Text),
    required("type", FILLED, "\"contains\""),
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
]);

/// Scores and passing are what the original's runtime reads; the schemas have an operator and a value.
static THRESHOLD: Object = named("a threshold").closed(&[
    optional("operator", Text),
    optional("value", ANY_NUMBER),
    known_by("passed", Truth, NEITHER),
    known_by("min_score max_score", ANY_NUMBER, NEITHER),
]);

static METRIC: Object = named("a metric").open(&[
    required("name", Checked(&rule::METRIC_NAME), "\"reply_tone\""),
    required("type", OneOf(&["gauge", "counter", "histogram", "boolean"], BOTH), "\"gauge\""),
    optional("range labels", OPEN),
]);

static WORKFLOW: Object = named("a workflow").closed(&[
    required("version", Whole(1), "1"),
    required("entry", Text, "\"intake\""),
    required("states", Names(&Fields(&STATE), 1), "{…}, with at least one state in it"),
    optional("engine", Fields(&ENGINE)),
]);

static STATE: Object = named("a state")
    .closed(&[
        required_by("prompt_task", Text, V1_4, "\"…\""),
        optional("description skills on_max_visits", Text),
        optional("on_event", Names(&Text, 0)),
        optional("persistence", OneOf(&["transient", "persistent"], V1_5)),
        optional("orchestration", OneOf(&["internal", "external", "hybrid", "composition"], V1_5)),
        known_by("composition", Text, V1_5),
        optional("terminal", Truth),
        optional("max_visits", Whole(1)),
        optional("artifacts", Names(&Fields(&ARTIFACT), 0)),
    ])
    .and(object::state);

static ARTIFACT: Object = named("an artifact").closed(&[
    required("type", Text, "\"text/plain\""),
    optional("description", Text),
    optional("mode", OneOf(&["replace", "append"], BOTH)),
]);

static ENGINE: Object = named("the engine").open(&[optional("budget", Custom(object::budget))]);

static COMPOSITION: Object = named("a composition").closed(&[
    required("version", Whole(1), "1"),
    optional("description input_schema output_schema output", Text),
    required("steps", List(&Fields(&STEP), 1), "[…], with at least one step in it"),
    optional("engine", Fields(&COMPOSITION_ENGINE)),
]);

static COMPOSITION_ENGINE: Object = named("the engine").closed_to(
    NEITHER,
    &[
        optional("concurrency", Whole(1)),
        optional("on_failure", OneOf(&["finish", "cancel"], BOTH)),
        optional("on_output", List(&Fields(&OUTPUT_RULE), 0)),
    ],
);

static OUTPUT_RULE: Object = named("a rule for the output")
    .closed_to(NEITHER, &[required("event", Text, "\"Done\""), optional("predicate", Fields(&PREDICATE))]);

/// Which fields there must be depends on each other, so who reads predicates says that.
static PREDICATE: Object = named("a predicate").closed_to(
    NEITHER,
    &[
        optional("path op value exists", Any),
        optional("all_of any_of", List(&Fields(&PREDICATE), 0)),
        optional("not", Fields(&PREDICATE)),
    ],
);

pub(super) static STEP: Object = named("a step")
    .closed_to(
        V1_4,
        &[
            required("id", Checked(&rule::IDENTIFIER), "\"classify\""),
            required("kind", OneOf(&["prompt", "agent", "tool", "branch", "parallel"], BOTH), "\"prompt\""),
            optional("description output_schema then else", Text),
            optional("depends_on tools", TEXTS),
            optional("modifiers", Fields(&MODIFIERS)),
            optional("prompt_task tool", FILLED),
            optional("input", Custom(object::step_input)),
            optional("termination", Fields(&TERMINATION)),
            optional("args", OPEN),
            optional("predicate", Fields(&PREDICATE)),
            optional("branches", List(&Fields(&STEP), 2)),
            optional("reduce", Fields(&REDUCE)),
        ],
    )
    .and(object::step);

static MODIFIERS: Object = named("the modifiers of a step")
    .closed_to(NEITHER, &[optional("retry", Fields(&RETRY)), optional("eval", TEXTS)]);

static RETRY: Object = named("a retry").closed_to(NEITHER, &[optional("max_attempts", Whole(1))]);

static TERMINATION: Object = named("the end of an agent's work")
    .closed_to(NEITHER, &[optional("max_steps", Whole(1)), optional("tool_called", FILLED)]);

static REDUCE: Object = named("a reduction").closed_to(
    NEITHER,
    &[
        required("strategy", OneOf(&["append", "replace", "barrier"], BOTH), "\"barrier\""),
        required("into", FILLED, "\"results\""),
    ],
);

static AGENTS: Object = named("the agents").closed(&[
    required("entry", Text, "\"…\""),
    required("members", Names(&Fields(&AGENT), 1), "{…}, with at least one agent in it"),
]);

static AGENT: Object = named("an agent").closed(&[
    optional("description", Text),
    optional("tags input_modes output_modes", TEXTS),
    known_by("state", Text, V1_5),
]);

pub(super) static SKILL_FOLDER: Object = named("a skill").closed(&[
    optional("path", Text),
    known_by("dir", Text, NEITHER),
    optional("preload", Truth),
]);

pub(super) static INLINE_SKILL: Object = named("a skill").closed(&[
    required("name", FILLED, "\"refunds\""),
    required("description", FILLED, "\"When and how money is given back\""),
    required("instructions", FILLED, "\"…\""),
    known_by("preload", Truth, NEITHER),
]);

pub(super) static BUDGET: Object =
    named("a budget").closed(&[optional("max_total_visits max_tool_calls max_wall_time_sec", Whole(1))]);
