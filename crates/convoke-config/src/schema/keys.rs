//! The list itself.

use super::{Across, Key, Kind, path};

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
        ..key(path::MODEL, Kind::Model, "The model to use.")
    },
    Key {
        variables: &["CONVOKE_FALLBACK"],
        default: "none",
        ..key(path::FALLBACK, Kind::Models, "The models to try, in order, when that one fails for good.")
    },
    Key {
        variables: &["CONVOKE_PRICES"],
        default: "the built-in table",
        ..key(path::PRICES, Kind::Path, "A file with prices that the built-in table lacks or has wrong.")
    },
    Key {
        variables: &["CONVOKE_TRUSTED_HOSTS"],
        default: "none",
        across: Across::User,
        ..key(
            path::TRUSTED_HOSTS,
            Kind::Hosts,
            "Hosts that a folder's file may send requests and telemetry to.",
        )
    },
    service(path::SERVICES_BASE_URL, Kind::Address, "Where the service is."),
    service(path::SERVICES_HEADERS, Kind::Headers, "Further headers for every request."),
    service(path::SERVICES_REQUESTS_PER_SECOND, Kind::Positive, "At most this many requests a second."),
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
            Kind::Whole { least: 1, most: 1_024 },
            "How many MiB of text, thoughts and calls a reply may have.",
        )
    },
    Key {
        default: "the model that is used otherwise",
        ..profile(path::PROFILES_MODEL, Kind::Model, "The model.")
    },
    Key {
        default: "`fallback`, if the profile names no model",
        ..profile(path::PROFILES_FALLBACK, Kind::Models, "The models to try when that one fails for good.")
    },
    profile(
        path::PROFILES_MAX_TOKENS,
        Kind::Whole { least: 1, most: u32::MAX as u64 },
        "At most this many tokens in an answer.",
    ),
    profile(path::PROFILES_TEMPERATURE, Kind::Number { least: 0.0, most: 2.0 }, "Randomness; 0 for none."),
    profile(
        path::PROFILES_TOP_P,
        Kind::Number { least: 0.0, most: 1.0 },
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
        ..key(path::SUPERVISION_MODEL, Kind::Model, "The model that supervises.")
    },
    Key {
        variables: &["CONVOKE_SUPERVISION_PROFILE"],
        default: "none",
        ..key(path::SUPERVISION_PROFILE, Kind::Profile, "The profile that supervises, instead of a model.")
    },
    Key {
        variables: &["CONVOKE_SUPERVISION_MAX_REORIENTS"],
        default: "as the workflow says",
        ..key(
            path::SUPERVISION_MAX_REORIENTS,
            Kind::Whole { least: 0, most: 100 },
            "How often the supervisor may send one goal back to be done otherwise.",
        )
    },
    Key {
        variables: &["CONVOKE_SUPERVISION_HUMAN_EXPIRY"],
        default: "questions wait for ever",
        ..key(path::SUPERVISION_HUMAN_EXPIRY, Kind::Time, "How long a question waits for a person.")
    },
    Key {
        variables: &["CONVOKE_SUPERVISION_ANSWERERS"],
        default: "anybody",
        across: Across::Narrow,
        ..key(path::SUPERVISION_ANSWERERS, Kind::Texts, "Who may answer questions.")
    },
    budget(path::BUDGETS_COST_USD, Kind::Dollars, &["CONVOKE_BUDGETS_COST_USD"], "Dollars a run may cost."),
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
            Kind::Whole { least: 1, most: u32::MAX as u64 },
            &["CONVOKE_BUDGETS_TURNS_PER_GOAL"],
            "Turns that one goal or agent may take before it has to end with what it has.",
        )
    },
    budget(path::BUDGETS_WALL_TIME, Kind::Time, &["CONVOKE_BUDGETS_WALL_TIME"], "How long a run may take."),
    Key {
        variables: &["CONVOKE_STORE"],
        default: "a file for each project, where your data is",
        across: Across::User,
        ..key(path::STORE_PATH, Kind::Path, "The file that holds the runs.")
    },
    Key {
        variables: &["CONVOKE_STORE_INSIDE_WORKSPACE"],
        default: "false",
        across: Across::User,
        ..key(
            path::STORE_INSIDE_WORKSPACE,
            Kind::Flag,
            "Whether agents may work in the folder that the store is in: their commands could then write what it says.",
        )
    },
    Key {
        variables: &["CONVOKE_WORKSPACE"],
        default: "the working folder",
        ..key(path::WORKSPACE_PATH, Kind::Path, "The folder that agents work in.")
    },
    Key {
        variables: &["CONVOKE_WORKSPACE_SUMMARY"],
        default: "true",
        ..key(path::WORKSPACE_SUMMARY, Kind::Flag, "Whether agents are told what is in the workspace.")
    },
    Key {
        variables: &["CONVOKE_WORKSPACE_READ_ONLY"],
        default: "false",
        across: Across::Narrow,
        ..key(path::WORKSPACE_READ_ONLY, Kind::Flag, "Whether agents must leave the workspace as it is.")
    },
    Key {
        variables: &["CONVOKE_LOCAL_CONTEXT_TOKENS"],
        default: "as many as the model was trained for",
        ..key(
            path::LOCAL_CONTEXT_TOKENS,
            Kind::Whole { least: 256, most: 1 << 24 },
            "How long a conversation with a model in the process may be; memory is taken for what is needed.",
        )
    },
    Key {
        variables: &["CONVOKE_LOCAL_THREADS"],
        default: "the processors that are idle",
        ..key(
            path::LOCAL_THREADS,
            Kind::Whole { least: 1, most: 1024 },
            "How many threads a model in the process computes with.",
        )
    },
    Key {
        variables: &["CONVOKE_LOCAL_PARALLEL"],
        default: "4",
        ..key(
            path::LOCAL_PARALLEL,
            Kind::Whole { least: 1, most: 64 },
            "How many requests a model in the process works on at once.",
        )
    },
    Key {
        variables: &["CONVOKE_TELEMETRY_ENDPOINT", "OTEL_EXPORTER_OTLP_ENDPOINT"],
        default: "none: nothing is sent",
        ..key(path::TELEMETRY_ENDPOINT, Kind::Address, "Where traces and metrics are sent (OTLP over HTTP).")
    },
    key(path::TELEMETRY_HEADERS, Kind::Headers, "Headers for what is sent there."),
    Key {
        variables: &["CONVOKE_TELEMETRY_SERVICE_NAME", "OTEL_SERVICE_NAME"],
        default: "convoke",
        ..key(path::TELEMETRY_SERVICE_NAME, Kind::Text, "What this program is called there.")
    },
    Key {
        variables: &["CONVOKE_TELEMETRY_SAMPLE_RATIO"],
        default: "1",
        ..key(
            path::TELEMETRY_SAMPLE_RATIO,
            Kind::Number { least: 0.0, most: 1.0 },
            "The share of runs that is sent.",
        )
    },
    Key {
        variables: &["CONVOKE_TELEMETRY_RECORD_CONTENT"],
        default: "false",
        across: Across::UserTurnsOn,
        ..key(
            path::TELEMETRY_RECORD_CONTENT,
            Kind::Flag,
            "Whether prompts, answers and tool arguments are sent, too.",
        )
    },
    Key {
        variables: &["CONVOKE_LOG"],
        default: "off",
        ..key(
            path::TELEMETRY_LOG_LEVEL,
            Kind::OneOf(&["off", "error", "warn", "info", "debug", "trace"]),
            "What is written to the log on standard error.",
        )
    },
    Key {
        variables: &["CONVOKE_LOG_FORMAT"],
        default: "text",
        ..key(path::TELEMETRY_LOG_FORMAT, Kind::OneOf(&["text", "json"]), "How the log is written.")
    },
    Key {
        variables: &["CONVOKE_SKILLS"],
        default: "none",
        across: Across::Add,
        ..key(path::SKILLS_PATHS, Kind::Paths, "Folders with skills that Agentfiles name without a path.")
    },
    Key {
        variables: &["CONVOKE_MCP_TRUSTED"],
        default: "none",
        across: Across::User,
        ..key(
            path::MCP_TRUSTED,
            Kind::Texts,
            "Servers of folders' files that you trust, as `convoke mcp list` names them.",
        )
    },
    server(path::MCP_SERVERS_COMMAND, Kind::Text, "The program to start."),
    server(path::MCP_SERVERS_ARGS, Kind::Texts, "Its arguments."),
    Key { default: "the working folder", ..server(path::MCP_SERVERS_FOLDER, Kind::Path, "Where it works.") },
    server(path::MCP_SERVERS_ENV, Kind::Variables, "Variables for it."),
    server(path::MCP_SERVERS_INHERIT, Kind::Texts, "Variables of yours that it may see."),
    server(path::MCP_SERVERS_URL, Kind::Address, "Where the server is, instead of a command."),
    server(path::MCP_SERVERS_HEADERS, Kind::Headers, "Headers for every request."),
    Key {
        default: "auto",
        ..server(
            path::MCP_SERVERS_PROTOCOL,
            Kind::OneOf(&["auto", "initialize", "stateless"]),
            "How to greet it: the new way and then the old, the old way, or the new way.",
        )
    },
    Key {
        default: "30s",
        ..server(path::MCP_SERVERS_STARTUP, Kind::Time, "How long it may take to be ready.")
    },
    Key { default: "1m", ..server(path::MCP_SERVERS_TIMEOUT, Kind::Time, "How long a call may take.") },
    Key {
        default: "5",
        ..server(
            path::MCP_SERVERS_RESTARTS,
            Kind::Whole { least: 0, most: 1000 },
            "How often in a row it is started again when it dies.",
        )
    },
    Key {
        default: "false",
        ..server(
            path::MCP_SERVERS_TRUST_ANNOTATIONS,
            Kind::Flag,
            "Whether to believe what it says about its tools: that they only read, or may be repeated.",
        )
    },
    Key { default: "all", ..server(path::MCP_SERVERS_ALLOW, Kind::Texts, "The only tools to offer.") },
    server(path::MCP_SERVERS_DENY, Kind::Texts, "Tools not to offer."),
    Key {
        default: "false",
        ..server(
            path::MCP_SERVERS_RESOURCES,
            Kind::Flag,
            "Whether agents get tools to list and read its resources.",
        )
    },
    Key {
        default: "false",
        ..server(
            path::MCP_SERVERS_PROMPTS,
            Kind::Flag,
            "Whether agents get tools to list and use its prompts.",
        )
    },
    Key {
        default: "true, where there is a sandbox, in a folder's file and for a server of the workspace; else false",
        ..server(
            path::MCP_SERVERS_SANDBOX,
            Kind::Flag,
            "Whether its command runs in the sandbox, or not at all.",
        )
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
