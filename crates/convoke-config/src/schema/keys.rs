//! The list itself.

use super::{Across, Key, Kind};

const COUNT: Kind = Kind::Whole { least: 1, most: u64::MAX };
const COUNT_OR_NONE: Kind = Kind::Whole { least: 0, most: u64::MAX };
const SECONDS: Kind = Kind::Whole { least: 1, most: 86_400 };
const STRUCTURED_OUTPUT: Kind = Kind::OneOf(&["json_schema", "json_object", "words"]);
const REASONING: Kind = Kind::OneOf(&["off", "low", "medium", "high"]);

/// Every key, in the order in which they are shown. `[tools]` and `[policy]` belong here once something reads them; until then they are unknown, like everything else that would do nothing.
pub const KEYS: &[Key] = &[
    Key {
        variables: &["CONVOKE_MODEL"],
        default: "the first that is found: a service with a key, a running Ollama, the local model",
        across: Across::VariableLast,
        ..key("model", Kind::Model, "The model to use.")
    },
    Key {
        variables: &["CONVOKE_FALLBACK"],
        default: "none",
        ..key("fallback", Kind::Models, "The models to try, in order, when that one fails for good.")
    },
    Key {
        variables: &["CONVOKE_PRICES"],
        default: "the built-in table",
        ..key("prices", Kind::Path, "A file with prices that the built-in table lacks or has wrong.")
    },
    Key {
        variables: &["CONVOKE_TRUSTED_HOSTS"],
        default: "none",
        across: Across::User,
        ..key("trusted_hosts", Kind::Hosts, "Hosts that a folder's file may send requests and telemetry to.")
    },
    service("services.*.base_url", Kind::Address, "Where the service is."),
    service("services.*.headers", Kind::Headers, "Further headers for every request."),
    service("services.*.requests_per_second", Kind::Positive, "At most this many requests a second."),
    service("services.*.concurrent_requests", COUNT, "At most this many requests at once."),
    service("services.*.first_token_seconds", SECONDS, "How long the first sign of an answer may take."),
    service("services.*.idle_seconds", SECONDS, "How long an answer may pause."),
    Key {
        default: "json_schema, and words once the service has refused it",
        ..service(
            "services.*.structured_output",
            STRUCTURED_OUTPUT,
            "How the service is asked for an answer of a given shape.",
        )
    },
    Key {
        default: "16",
        ..service(
            "services.*.max_reply_mib",
            Kind::Whole { least: 1, most: 1_024 },
            "How many MiB of text, thoughts and calls a reply may have.",
        )
    },
    Key {
        default: "the model that is used otherwise",
        ..profile("profiles.*.model", Kind::Model, "The model.")
    },
    Key {
        default: "`fallback`, if the profile names no model",
        ..profile("profiles.*.fallback", Kind::Models, "The models to try when that one fails for good.")
    },
    profile(
        "profiles.*.max_tokens",
        Kind::Whole { least: 1, most: u32::MAX as u64 },
        "At most this many tokens in an answer.",
    ),
    profile("profiles.*.temperature", Kind::Number { least: 0.0, most: 2.0 }, "Randomness; 0 for none."),
    profile(
        "profiles.*.top_p",
        Kind::Number { least: 0.0, most: 1.0 },
        "Only the likeliest tokens that make up this share.",
    ),
    profile(
        "profiles.*.seed",
        COUNT_OR_NONE,
        "Where randomness begins, for models that can repeat themselves.",
    ),
    profile("profiles.*.reasoning", REASONING, "How much to think before answering."),
    Key {
        variables: &["CONVOKE_SUPERVISION_MODEL"],
        default: "the model that is supervised",
        ..key("supervision.model", Kind::Model, "The model that supervises.")
    },
    Key {
        variables: &["CONVOKE_SUPERVISION_PROFILE"],
        default: "none",
        ..key("supervision.profile", Kind::Profile, "The profile that supervises, instead of a model.")
    },
    Key {
        variables: &["CONVOKE_SUPERVISION_MAX_REORIENTS"],
        default: "as the workflow says",
        ..key(
            "supervision.max_reorients",
            Kind::Whole { least: 0, most: 100 },
            "How often the supervisor may send one goal back to be done otherwise.",
        )
    },
    Key {
        variables: &["CONVOKE_SUPERVISION_HUMAN_EXPIRY"],
        default: "questions wait for ever",
        ..key("supervision.human_expiry", Kind::Time, "How long a question waits for a person.")
    },
    Key {
        variables: &["CONVOKE_SUPERVISION_ANSWERERS"],
        default: "anybody",
        across: Across::Narrow,
        ..key("supervision.answerers", Kind::Texts, "Who may answer questions.")
    },
    budget("budgets.cost_usd", Kind::Dollars, &["CONVOKE_BUDGETS_COST_USD"], "Dollars a run may cost."),
    budget(
        "budgets.tokens",
        COUNT,
        &["CONVOKE_BUDGETS_TOKENS"],
        "Tokens a run may use, in and out together.",
    ),
    budget("budgets.model_calls", COUNT, &["CONVOKE_BUDGETS_MODEL_CALLS"], "Model calls a run may make."),
    budget(
        "budgets.tool_calls",
        COUNT_OR_NONE,
        &["CONVOKE_BUDGETS_TOOL_CALLS"],
        "Tool calls a run may make, of all tools together.",
    ),
    budget("budgets.per_tool.*", COUNT_OR_NONE, &[], "Calls of one tool that a run may make."),
    budget("budgets.turns", COUNT, &["CONVOKE_BUDGETS_TURNS"], "Turns of agents in a run."),
    Key {
        default: "50 for a goal, 30 for an agent; more if a BUDGET says more turns",
        ..budget(
            "budgets.turns_per_goal",
            Kind::Whole { least: 1, most: u32::MAX as u64 },
            &["CONVOKE_BUDGETS_TURNS_PER_GOAL"],
            "Turns that one goal or agent may take before it has to end with what it has.",
        )
    },
    budget("budgets.wall_time", Kind::Time, &["CONVOKE_BUDGETS_WALL_TIME"], "How long a run may take."),
    Key {
        variables: &["CONVOKE_STORE"],
        default: "the project's convoke.db, or ./convoke.db",
        ..key("store.path", Kind::Path, "The file that holds the runs.")
    },
    Key {
        variables: &["CONVOKE_WORKSPACE"],
        default: "the working folder",
        ..key("workspace.path", Kind::Path, "The folder that agents work in.")
    },
    Key {
        variables: &["CONVOKE_WORKSPACE_SUMMARY"],
        default: "true",
        ..key("workspace.summary", Kind::Flag, "Whether agents are told what is in the workspace.")
    },
    Key {
        variables: &["CONVOKE_WORKSPACE_READ_ONLY"],
        default: "false",
        across: Across::Narrow,
        ..key("workspace.read_only", Kind::Flag, "Whether agents must leave the workspace as it is.")
    },
    Key {
        variables: &["CONVOKE_LOCAL_CONTEXT_TOKENS"],
        default: "as many as the model was trained for",
        ..key(
            "local.context_tokens",
            Kind::Whole { least: 256, most: 1 << 24 },
            "How long a conversation with a model in the process may be; memory is taken for what is needed.",
        )
    },
    Key {
        variables: &["CONVOKE_LOCAL_THREADS"],
        default: "the processors that are idle",
        ..key(
            "local.threads",
            Kind::Whole { least: 1, most: 1024 },
            "How many threads a model in the process computes with.",
        )
    },
    Key {
        variables: &["CONVOKE_LOCAL_PARALLEL"],
        default: "4",
        ..key(
            "local.parallel",
            Kind::Whole { least: 1, most: 64 },
            "How many requests a model in the process works on at once.",
        )
    },
    Key {
        variables: &["CONVOKE_TELEMETRY_ENDPOINT", "OTEL_EXPORTER_OTLP_ENDPOINT"],
        default: "none: nothing is sent",
        ..key("telemetry.endpoint", Kind::Address, "Where traces and metrics are sent (OTLP over HTTP).")
    },
    key("telemetry.headers", Kind::Headers, "Headers for what is sent there."),
    Key {
        variables: &["CONVOKE_TELEMETRY_SERVICE_NAME", "OTEL_SERVICE_NAME"],
        default: "convoke",
        ..key("telemetry.service_name", Kind::Text, "What this program is called there.")
    },
    Key {
        variables: &["CONVOKE_TELEMETRY_SAMPLE_RATIO"],
        default: "1",
        ..key(
            "telemetry.sample_ratio",
            Kind::Number { least: 0.0, most: 1.0 },
            "The share of runs that is sent.",
        )
    },
    Key {
        variables: &["CONVOKE_TELEMETRY_RECORD_CONTENT"],
        default: "false",
        across: Across::UserTurnsOn,
        ..key(
            "telemetry.record_content",
            Kind::Flag,
            "Whether prompts, answers and tool arguments are sent, too.",
        )
    },
    Key {
        variables: &["CONVOKE_LOG"],
        default: "off",
        ..key(
            "telemetry.log_level",
            Kind::OneOf(&["off", "error", "warn", "info", "debug", "trace"]),
            "What is written to the log on standard error.",
        )
    },
    Key {
        variables: &["CONVOKE_LOG_FORMAT"],
        default: "text",
        ..key("telemetry.log_format", Kind::OneOf(&["text", "json"]), "How the log is written.")
    },
    Key {
        variables: &["CONVOKE_SKILLS"],
        default: "none",
        across: Across::Add,
        ..key("skills.paths", Kind::Paths, "Folders with skills that Agentfiles name without a path.")
    },
    Key {
        variables: &["CONVOKE_MCP_TRUSTED"],
        default: "none",
        across: Across::User,
        ..key(
            "mcp.trusted",
            Kind::Texts,
            "Servers of folders' files that you trust, as `convoke mcp list` names them.",
        )
    },
    server("mcp.servers.*.command", Kind::Text, "The program to start."),
    server("mcp.servers.*.args", Kind::Texts, "Its arguments."),
    Key { default: "the working folder", ..server("mcp.servers.*.folder", Kind::Path, "Where it works.") },
    server("mcp.servers.*.env", Kind::Variables, "Variables for it."),
    server("mcp.servers.*.inherit", Kind::Texts, "Variables of yours that it may see."),
    server("mcp.servers.*.url", Kind::Address, "Where the server is, instead of a command."),
    server("mcp.servers.*.headers", Kind::Headers, "Headers for every request."),
    Key {
        default: "auto",
        ..server(
            "mcp.servers.*.protocol",
            Kind::OneOf(&["auto", "initialize", "stateless"]),
            "How to greet it: the new way and then the old, the old way, or the new way.",
        )
    },
    Key {
        default: "30s",
        ..server("mcp.servers.*.startup", Kind::Time, "How long it may take to be ready.")
    },
    Key { default: "1m", ..server("mcp.servers.*.timeout", Kind::Time, "How long a call may take.") },
    Key {
        default: "5",
        ..server(
            "mcp.servers.*.restarts",
            Kind::Whole { least: 0, most: 1000 },
            "How often in a row it is started again when it dies.",
        )
    },
    Key {
        default: "false",
        ..server(
            "mcp.servers.*.trust_annotations",
            Kind::Flag,
            "Whether to believe what it says about its tools: that they only read, or may be repeated.",
        )
    },
    Key { default: "all", ..server("mcp.servers.*.allow", Kind::Texts, "The only tools to offer.") },
    server("mcp.servers.*.deny", Kind::Texts, "Tools not to offer."),
    Key {
        default: "false",
        ..server(
            "mcp.servers.*.resources",
            Kind::Flag,
            "Whether agents get tools to list and read its resources.",
        )
    },
    Key {
        default: "false",
        ..server("mcp.servers.*.prompts", Kind::Flag, "Whether agents get tools to list and use its prompts.")
    },
];

const fn key(path: &'static str, kind: Kind, about: &'static str) -> Key {
    Key { path, kind, variables: &[], default: "none", about, across: Across::Replace }
}

const fn service(path: &'static str, kind: Kind, about: &'static str) -> Key {
    Key { across: Across::ReplaceSection, default: "as the service has it", ..key(path, kind, about) }
}

const fn server(path: &'static str, kind: Kind, about: &'static str) -> Key {
    Key { across: Across::ReplaceSection, ..key(path, kind, about) }
}

const fn profile(path: &'static str, kind: Kind, about: &'static str) -> Key {
    Key { across: Across::ReplaceSection, default: "as the model has it", ..key(path, kind, about) }
}

const fn budget(
    path: &'static str,
    kind: Kind,
    variables: &'static [&'static str],
    about: &'static str,
) -> Key {
    Key { variables, across: Across::Narrow, default: "no limit", ..key(path, kind, about) }
}
