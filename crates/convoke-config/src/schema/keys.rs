//! The table of all keys.

use super::{Key, MergeRule, ValueKind, path};

const COUNT: ValueKind = ValueKind::Whole { least: 1, most: u64::MAX };
const COUNT_OR_NONE: ValueKind = ValueKind::Whole { least: 0, most: u64::MAX };
const SECONDS: ValueKind = ValueKind::Whole { least: 1, most: 86_400 };
const STRUCTURED_OUTPUT: ValueKind = ValueKind::OneOf(&["json_schema", "json_object", "words"]);
const REASONING: ValueKind = ValueKind::OneOf(&["off", "low", "medium", "high"]);

/// Every key, in the order in which they are shown. `[tools]` and `[policy]` belong here once something reads them; until then they are unknown, like everything else that would do nothing.
pub const KEYS: &[Key] = &[
    Key {
        variables: &["CONVOKE_MODEL"],
        default: "the first that is found: a service with a key, a running Ollama, the local model",
        merge: MergeRule::FileOverridesEnv,
        ..key(path::MODEL, ValueKind::Model, "The model to use.")
    },
    Key {
        variables: &["CONVOKE_FALLBACK"],
        default: "none",
        ..key(
            path::FALLBACK,
            ValueKind::Models,
            "The models to try, in order, when that one fails for good; one named with --model or in a file stands alone.",
        )
    },
    Key {
        variables: &["CONVOKE_PRICES"],
        default: "the built-in table",
        ..key(path::PRICES, ValueKind::Path, "A file with prices that the built-in table lacks or has wrong.")
    },
    Key {
        variables: &["CONVOKE_TRUSTED_HOSTS"],
        default: "none",
        merge: MergeRule::UserOnly,
        ..key(
            path::TRUSTED_HOSTS,
            ValueKind::Hosts,
            "Hosts that a folder's file may send requests and telemetry to.",
        )
    },
    service(path::SERVICES_BASE_URL, ValueKind::Address, "Where the service is."),
    service(path::SERVICES_HEADERS, ValueKind::Headers, "Further headers for every request."),
    service(path::SERVICES_REQUESTS_PER_SECOND, ValueKind::Positive, "At most this many requests a second."),
    service(path::SERVICES_CONCURRENT_REQUESTS, COUNT, "At most this many requests at once."),
    service(path::SERVICES_FIRST_TOKEN_SECONDS, SECONDS, "How long the first sign of an answer may take."),
    service(path::SERVICES_IDLE_SECONDS, SECONDS, "How long an answer may pause."),
    Key {
        default: "json_schema, and words once the service has refused it",
        ..service(
            path::SERVICES_STRUCTURED_OUTPUT,
            STRUCTURED_OUTPUT,
            "How the service is asked for an answer of a given shape.",
        )
    },
    Key {
        default: "16",
        ..service(
            path::SERVICES_MAX_REPLY_MIB,
            ValueKind::Whole { least: 1, most: 1_024 },
            "How many MiB of text, thoughts and calls a reply may have.",
        )
    },
    Key {
        default: "the model that is used otherwise",
        ..profile(path::PROFILES_MODEL, ValueKind::Model, "The model.")
    },
    Key {
        default: "`fallback`, if the profile names no model",
        ..profile(
            path::PROFILES_FALLBACK,
            ValueKind::Models,
            "The models to try when that one fails for good.",
        )
    },
    profile(
        path::PROFILES_MAX_TOKENS,
        ValueKind::Whole { least: 1, most: u32::MAX as u64 },
        "At most this many tokens in an answer.",
    ),
    profile(
        path::PROFILES_TEMPERATURE,
        ValueKind::Number { least: 0.0, most: 2.0 },
        "Randomness; 0 for none.",
    ),
    profile(
        path::PROFILES_TOP_P,
        ValueKind::Number { least: 0.0, most: 1.0 },
        "Only the likeliest tokens that make up this share.",
    ),
    profile(
        path::PROFILES_SEED,
        COUNT_OR_NONE,
        "Where randomness begins, for models that can repeat themselves.",
    ),
    profile(path::PROFILES_REASONING, REASONING, "How much to think before answering."),
    Key {
        variables: &["CONVOKE_SUPERVISION_MODEL"],
        default: "the model that is supervised",
        ..key(path::SUPERVISION_MODEL, ValueKind::Model, "The model that supervises.")
    },
    Key {
        variables: &["CONVOKE_SUPERVISION_PROFILE"],
        default: "none",
        ..key(
            path::SUPERVISION_PROFILE,
            ValueKind::Profile,
            "The profile that supervises, instead of a model.",
        )
    },
    Key {
        variables: &["CONVOKE_SUPERVISION_MAX_REORIENTS"],
        default: "as the workflow says",
        ..key(
            path::SUPERVISION_MAX_REORIENTS,
            ValueKind::Whole { least: 0, most: 100 },
            "How often the supervisor may send one goal back to be done otherwise.",
        )
    },
    Key {
        variables: &["CONVOKE_SUPERVISION_HUMAN_EXPIRY"],
        default: "questions wait for ever",
        ..key(path::SUPERVISION_HUMAN_EXPIRY, ValueKind::Time, "How long a question waits for a person.")
    },
    Key {
        variables: &["CONVOKE_SUPERVISION_ANSWERERS"],
        default: "anybody",
        merge: MergeRule::Narrow,
        ..key(path::SUPERVISION_ANSWERERS, ValueKind::Texts, "Who may answer questions.")
    },
    budget(
        path::BUDGETS_COST_USD,
        ValueKind::Dollars,
        &["CONVOKE_BUDGETS_COST_USD"],
        "Dollars a run may cost.",
    ),
    budget(
        path::BUDGETS_TOKENS,
        COUNT,
        &["CONVOKE_BUDGETS_TOKENS"],
        "Tokens a run may use, in and out together.",
    ),
    budget(path::BUDGETS_MODEL_CALLS, COUNT, &["CONVOKE_BUDGETS_MODEL_CALLS"], "Model calls a run may make."),
    budget(
        path::BUDGETS_TOOL_CALLS,
        COUNT_OR_NONE,
        &["CONVOKE_BUDGETS_TOOL_CALLS"],
        "Tool calls a run may make, of all tools together.",
    ),
    budget(path::BUDGETS_PER_TOOL, COUNT_OR_NONE, &[], "Calls of one tool that a run may make."),
    budget(path::BUDGETS_TURNS, COUNT, &["CONVOKE_BUDGETS_TURNS"], "Turns of agents in a run."),
    Key {
        default: "50 for a goal, 30 for an agent; more if a BUDGET says more turns",
        ..budget(
            path::BUDGETS_TURNS_PER_GOAL,
            ValueKind::Whole { least: 1, most: u32::MAX as u64 },
            &["CONVOKE_BUDGETS_TURNS_PER_GOAL"],
            "Turns that one goal or agent may take before it has to end with what it has.",
        )
    },
    budget(
        path::BUDGETS_WALL_TIME,
        ValueKind::Time,
        &["CONVOKE_BUDGETS_WALL_TIME"],
        "How long a run may take.",
    ),
    Key {
        variables: &["CONVOKE_STORE"],
        default: "a file for each project, where your data is",
        merge: MergeRule::UserOnly,
        ..key(path::STORE_PATH, ValueKind::Path, "The file that holds the runs.")
    },
    Key {
        variables: &["CONVOKE_STORE_INSIDE_WORKSPACE"],
        default: "false",
        merge: MergeRule::UserOnly,
        ..key(
            path::STORE_INSIDE_WORKSPACE,
            ValueKind::Flag,
            "Whether agents may work in the folder that the store is in: their commands could then write what it says.",
        )
    },
    Key {
        variables: &["CONVOKE_WORKSPACE"],
        default: "the working folder",
        ..key(path::WORKSPACE_PATH, ValueKind::Path, "The folder that agents work in.")
    },
    Key {
        variables: &["CONVOKE_WORKSPACE_SUMMARY"],
        default: "true",
        ..key(path::WORKSPACE_SUMMARY, ValueKind::Flag, "Whether agents are told what is in the workspace.")
    },
    Key {
        variables: &["CONVOKE_WORKSPACE_READ_ONLY"],
        default: "false",
        merge: MergeRule::Narrow,
        ..key(path::WORKSPACE_READ_ONLY, ValueKind::Flag, "Whether agents must leave the workspace as it is.")
    },
    Key {
        variables: &["CONVOKE_LOCAL_CONTEXT_TOKENS"],
        default: "as many as the model was trained for",
        ..key(
            path::LOCAL_CONTEXT_TOKENS,
            ValueKind::Whole { least: 256, most: 1 << 24 },
            "How long a conversation with a model in the process may be; memory is taken for what is needed.",
        )
    },
    Key {
        variables: &["CONVOKE_LOCAL_THREADS"],
        default: "the processors that are idle",
        ..key(
            path::LOCAL_THREADS,
            ValueKind::Whole { least: 1, most: 1024 },
            "How many threads a model in the process computes with.",
        )
    },
    Key {
        variables: &["CONVOKE_LOCAL_PARALLEL"],
        default: "4",
        ..key(
            path::LOCAL_PARALLEL,
            ValueKind::Whole { least: 1, most: 64 },
            "How many requests a model in the process works on at once.",
        )
    },
    Key {
        variables: &["CONVOKE_TELEMETRY_ENDPOINT", "OTEL_EXPORTER_OTLP_ENDPOINT"],
        default: "none: nothing is sent",
        ..key(
            path::TELEMETRY_ENDPOINT,
            ValueKind::Address,
            "Where traces and metrics are sent (OTLP over HTTP).",
        )
    },
    key(path::TELEMETRY_HEADERS, ValueKind::Headers, "Headers for what is sent there."),
    Key {
        variables: &["CONVOKE_TELEMETRY_SERVICE_NAME", "OTEL_SERVICE_NAME"],
        default: "convoke",
        ..key(path::TELEMETRY_SERVICE_NAME, ValueKind::Text, "What this program is called there.")
    },
    Key {
        variables: &["CONVOKE_TELEMETRY_SAMPLE_RATIO"],
        default: "1",
        ..key(
            path::TELEMETRY_SAMPLE_RATIO,
            ValueKind::Number { least: 0.0, most: 1.0 },
            "The share of runs that is sent.",
        )
    },
    Key {
        variables: &["CONVOKE_TELEMETRY_RECORD_CONTENT"],
        default: "false",
        merge: MergeRule::EnableByUserOnly,
        ..key(
            path::TELEMETRY_RECORD_CONTENT,
            ValueKind::Flag,
            "Whether prompts, answers and tool arguments are sent, too.",
        )
    },
    Key {
        variables: &["CONVOKE_LOG"],
        default: "off",
        ..key(
            path::TELEMETRY_LOG_LEVEL,
            ValueKind::OneOf(&["off", "error", "warn", "info", "debug", "trace"]),
            "What is written to the log on standard error.",
        )
    },
    Key {
        variables: &["CONVOKE_LOG_FORMAT"],
        default: "text",
        ..key(path::TELEMETRY_LOG_FORMAT, ValueKind::OneOf(&["text", "json"]), "How the log is written.")
    },
    Key {
        variables: &["CONVOKE_SKILLS"],
        default: "none",
        merge: MergeRule::Append,
        ..key(
            path::SKILLS_PATHS,
            ValueKind::Paths,
            "Folders with skills that Agentfiles name without a path.",
        )
    },
    Key {
        variables: &["CONVOKE_MCP_TRUSTED"],
        default: "none",
        merge: MergeRule::UserOnly,
        ..key(
            path::MCP_TRUSTED,
            ValueKind::Texts,
            "Servers of folders' files that you trust, as `convoke mcp list` names them.",
        )
    },
    server(path::MCP_SERVERS_COMMAND, ValueKind::Text, "The program to start."),
    server(path::MCP_SERVERS_ARGS, ValueKind::Texts, "Its arguments."),
    Key {
        default: "the working folder",
        ..server(path::MCP_SERVERS_FOLDER, ValueKind::Path, "Where it works.")
    },
    server(path::MCP_SERVERS_ENV, ValueKind::Variables, "Variables for it."),
    server(path::MCP_SERVERS_INHERIT, ValueKind::Texts, "Variables of yours that it may see."),
    server(path::MCP_SERVERS_URL, ValueKind::Address, "Where the server is, instead of a command."),
    server(path::MCP_SERVERS_HEADERS, ValueKind::Headers, "Headers for every request."),
    Key {
        default: "auto",
        ..server(
            path::MCP_SERVERS_PROTOCOL,
            ValueKind::OneOf(&["auto", "initialize", "stateless"]),
            "How to greet it: the new way and then the old, the old way, or the new way.",
        )
    },
    Key {
        default: "30s",
        ..server(path::MCP_SERVERS_STARTUP, ValueKind::Time, "How long it may take to be ready.")
    },
    Key { default: "1m", ..server(path::MCP_SERVERS_TIMEOUT, ValueKind::Time, "How long a call may take.") },
    Key {
        default: "5",
        ..server(
            path::MCP_SERVERS_RESTARTS,
            ValueKind::Whole { least: 0, most: 1000 },
            "How often in a row it is started again when it dies.",
        )
    },
    Key {
        default: "false",
        ..server(
            path::MCP_SERVERS_TRUST_ANNOTATIONS,
            ValueKind::Flag,
            "Whether to believe what it says about its tools: that they only read, or may be repeated.",
        )
    },
    Key { default: "all", ..server(path::MCP_SERVERS_ALLOW, ValueKind::Texts, "The only tools to offer.") },
    server(path::MCP_SERVERS_DENY, ValueKind::Texts, "Tools not to offer."),
    Key {
        default: "false",
        ..server(
            path::MCP_SERVERS_RESOURCES,
            ValueKind::Flag,
            "Whether agents get tools to list and read its resources.",
        )
    },
    Key {
        default: "false",
        ..server(
            path::MCP_SERVERS_PROMPTS,
            ValueKind::Flag,
            "Whether agents get tools to list and use its prompts.",
        )
    },
    Key {
        default: "true, where there is a sandbox, in a folder's file and for a server of the workspace; else false",
        ..server(
            path::MCP_SERVERS_SANDBOX,
            ValueKind::Flag,
            "Whether its command runs in the sandbox, or not at all.",
        )
    },
];

const fn key(path: &'static str, kind: ValueKind, about: &'static str) -> Key {
    Key { path, kind, variables: &[], default: "none", about, merge: MergeRule::Replace }
}

const fn service(path: &'static str, kind: ValueKind, about: &'static str) -> Key {
    Key { merge: MergeRule::ReplaceSection, default: "as the service has it", ..key(path, kind, about) }
}

const fn server(path: &'static str, kind: ValueKind, about: &'static str) -> Key {
    Key { merge: MergeRule::ReplaceSection, ..key(path, kind, about) }
}

const fn profile(path: &'static str, kind: ValueKind, about: &'static str) -> Key {
    Key { merge: MergeRule::ReplaceSection, default: "as the model has it", ..key(path, kind, about) }
}

const fn budget(
    path: &'static str,
    kind: ValueKind,
    variables: &'static [&'static str],
    about: &'static str,
) -> Key {
    Key { variables, merge: MergeRule::Narrow, default: "no limit", ..key(path, kind, about) }
}
