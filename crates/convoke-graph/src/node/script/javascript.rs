//! One script in a QuickJS of its own.

use std::cell::RefCell;
use std::rc::Rc;

use rquickjs::{CatchResultExt, CaughtError, Coerced, Context, Function, Runtime, Value};

use super::runaway::IsOver;

const MEMORY: usize = 64 << 20;
const STACK: usize = 512 << 10;

/// What a script is run by: it makes variables and words of `input`, and gives what gives both as JSON once promises have been kept.
const FRAME: &str = r#"(function (source, input) {
    const given = JSON.parse(input), vars = given.vars;
    const done = Symbol("done"), stringify = JSON.stringify, keys = Object.keys, hasOwn = Object.hasOwn;
    let error = null, fault = null;
    const described = (thrown) => {
        if (thrown instanceof Error && /out of memory/.test(thrown.message)) { return "it needs more than 64 MiB"; }
        const isError = thrown instanceof Error;
        const text = isError ? `${thrown.name}: ${thrown.message}` : typeof thrown === "object" ? stringify(thrown) : String(thrown);
        // Two lines of the function around it come before its first.
        const line = isError && /<input>:(\d+)/.exec(thrown.stack);
        return line && line[1] > 2 ? `${text} (line ${line[1] - 2} of the script)` : text;
    };
    const half = /\p{Surrogate}/u;
    const wellFormed = (text) => text === null ? null : text.replace(/\p{Surrogate}/gu, "\ufffd");
    const failed = (thrown) => { if (thrown !== done && fault === null) { fault = described(thrown); } };
    const what = (value) => {
        switch (typeof value) {
            case "function": case "symbol": return `a ${typeof value}`;
            case "bigint": return "a BigInt; write Number(…) or String(…) around it";
            case "number": return Number.isFinite(value) ? null : `${value}, which is no number`;
            case "string": return half.test(value) ? "a text with half a character (a lone surrogate; cut texts by characters, with `[...text]`)" : null;
            case "object": break;
            default: return null;
        }
        if (value instanceof Map || value instanceof Set) { return `a ${value.constructor.name}; write Array.from(…) around it`; }
        return value instanceof Promise ? "a promise; write to the variable in its `then`" : null;
    };
    const kept = (name) => {
        const text = stringify(vars[name], function (key) {
            const problem = what(key || name) ?? what(this[key]);
            if (problem !== null) {
                const at = key === "" || this === vars ? "" : ` at \`${key}\``;
                throw new TypeError(`variable \`${name}\` cannot be kept: there is ${problem}${at}. Variables hold texts, numbers, booleans, lists and objects`);
            }
            return this[key] === undefined ? undefined : arguments[1];
        });
        return `${stringify(name)}:${text === undefined ? "null" : text}`;
    };
    const has = (name) => hasOwn(vars, name);
    const board = {
        getVar: (name) => (has(name) ? vars[name] : null),
        setVar: (name, value) => { vars[name] = value === undefined ? null : value; },
        hasVar: has,
        deleteVar: (name) => { delete vars[name]; },
        getVars: () => JSON.parse(stringify(vars)),
    };
    const signal = {
        done: () => { throw done; },
        error: (message) => { error = String(message && message.message ? message.message : message); throw done; },
    };
    Math.random = () => { throw new Error("scripts have no chance: they give the same every time"); };
    const Make = Function;
    delete globalThis.Date;
    delete globalThis.performance;
    try { new Make("board", "config", "signal", "Date", source)(board, given.config, signal, undefined); } catch (thrown) { failed(thrown); }
    return (rejection) => {
        fault = fault ?? rejection ?? null;
        let all = "";
        try { all = fault === null && error === null ? keys(vars).map(kept).join(",") : ""; } catch (thrown) { failed(thrown); }
        return `{"vars":{${fault === null ? all : ""}},"error":${stringify(wellFormed(error))},"fault":${stringify(wellFormed(fault))}}`;
    };
})"#;

/// What a script is read by, as the function that it becomes when it is run.
const READ: &str = r#"(function (source) {
    try { new Function("board", "config", "signal", "Date", source); } catch (thrown) {
        const line = /<input>:(\d+)/.exec(thrown.stack);
        return `${thrown.message}\n${line && line[1] > 2 ? line[1] - 2 : 1}`;
    }
    return null;
})"#;

/// Runs a script; `None` if it was over before it came to an end.
pub(super) fn run(source: &str, input: String, is_over: IsOver) -> Option<Result<String, String>> {
    let made = evaluated(source, input, is_over.clone());
    (!is_over.now()).then_some(made)
}

fn evaluated(source: &str, input: String, is_over: IsOver) -> Result<String, String> {
    let runtime = runtime(&is_over)?;
    // Promises that failed and of which nobody wanted to know that, so far.
    let rejected: Rc<RefCell<Vec<String>>> = Rc::default();
    let others = Rc::clone(&rejected);
    runtime.set_host_promise_rejection_tracker(Some(Box::new(move |_, _, reason, is_handled| {
        let mut rejected = others.borrow_mut();
        let Some(reason) = described(&reason) else { return };
        match rejected.iter().position(|other| is_handled && *other == reason) {
            Some(place) => drop(rejected.remove(place)),
            None if is_handled => {}
            None => rejected.push(reason),
        }
    })));
    let context = Context::full(&runtime).map_err(unusable)?;
    context.with(|ctx| {
        let frame: Function<'_> = ctx.eval(FRAME).catch(&ctx).map_err(fault)?;
        let finish: Function<'_> = frame.call((source, input)).catch(&ctx).map_err(fault)?;
        while !is_over.now() && ctx.execute_pending_job() {}
        let rejection = rejected.borrow().first().cloned();
        finish.call::<_, String>((rejection,)).catch(&ctx).map_err(fault)
    })
}

/// Has a script read, and not run; `None` if that took too long. What is wrong comes with its line after it.
pub(super) fn compiled(source: &str, is_over: IsOver) -> Option<Result<String, String>> {
    let read = || {
        let runtime = runtime(&is_over)?;
        let context = Context::full(&runtime).map_err(unusable)?;
        context.with(|ctx| {
            let read: Function<'_> = ctx.eval(READ).catch(&ctx).map_err(fault)?;
            let said: Option<String> = read.call((source,)).catch(&ctx).map_err(fault)?;
            said.map_or(Ok(String::new()), Err)
        })
    };
    let made = read();
    (!is_over.now()).then_some(made)
}

/// A QuickJS of its own, with its limits.
fn runtime(is_over: &IsOver) -> Result<Runtime, String> {
    let runtime = Runtime::new().map_err(unusable)?;
    runtime.set_memory_limit(MEMORY);
    runtime.set_max_stack_size(STACK);
    let is_over = is_over.clone();
    runtime.set_interrupt_handler(Some(Box::new(move || is_over.now())));
    Ok(runtime)
}

#[expect(clippy::needless_pass_by_value, reason = "errors are mapped with it")]
fn unusable(error: rquickjs::Error) -> String {
    format!("scripts cannot be run: {error}")
}

/// Why a promise failed; `None` if that was a script's way to say that it is done.
fn described(reason: &Value<'_>) -> Option<String> {
    if reason.is_symbol() {
        return None;
    }
    let text =
        reason.get::<Coerced<String>>().map_or_else(|_| "it cannot be said why".to_owned(), |text| text.0);
    Some(format!("a promise failed: {text}"))
}

/// What went wrong around a script.
fn fault(error: CaughtError<'_>) -> String {
    let text = match &error {
        CaughtError::Exception(exception) => exception.message().unwrap_or_default(),
        other => other.to_string(),
    };
    match text.contains("out of memory") {
        true => format!("the script needs more than {} MiB", MEMORY >> 20),
        false => format!("the script failed: {}", text.trim()),
    }
}
