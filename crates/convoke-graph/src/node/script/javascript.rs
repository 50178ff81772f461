//! One script in a QuickJS of its own.

use std::cell::RefCell;
use std::rc::Rc;

use rquickjs::{CatchResultExt, CaughtError, Coerced, Context, Ctx, Exception, Function, Runtime, Value};
use serde_json::json;

use super::given::Given;
use super::runaway::IsOver;

const MEMORY: usize = 64 << 20;
const STACK: usize = 512 << 10;
/// What is said of a script that takes more.
pub(super) const TOO_MUCH: &str = "needs more than 64 MiB, with the variables that it asks the board for: have it ask for less, or hold less at a time";

/// What a script is run by: it is given the names of the variables, asks `give` for what the script wants to know, and gives what
/// gives what was set as JSON once promises have been kept.
const FRAME: &str = r#"(function (source, input, give) {
    const given = JSON.parse(input), names = new Set(given.names), before = new Map(), set = new Map(), removed = new Set();
    const done = Symbol("done"), { parse, stringify } = JSON, call = Function.prototype.call;
    const typeOf = call.bind(Object.prototype.toString), { from } = Array, { fromEntries } = Object;
    let error = null, fault = null;
    const described = (thrown) => {
        if (thrown instanceof Error && /out of memory/.test(thrown.message)) { return `it ${given.tooMuch}`; }
        // Where there is no memory for an Error either, null is thrown.
        if (thrown === null) { return /\b(throw|reject)\b/.test(source) ? `null, or it ${given.tooMuch}` : `it ${given.tooMuch}`; }
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
        const type = typeOf(value).slice(8, -1);
        if (/^(Null|Object|Array|String|Number|Boolean)$/.test(type)) { return null; }
        if (/^(Map|Set|.*Array)$/.test(type)) { return `a ${type}; write Array.from(…) around it`; }
        if (type === "Promise") { return "a promise; write to the variable in its `then`"; }
        return type === "Error" ? "an Error; write String(…) around it" : `a ${type}`;
    };
    const kept = (name, value) => {
        // What stands around what is looked at, outermost first.
        const around = [];
        const text = stringify(value, function (key, inner) {
            while (around.length > 0 && around.at(-1) !== this) { around.pop(); }
            if (around.length === 0) { around.push(this); }
            if (typeof inner === "object" && inner !== null && around.push(inner) > given.deepest + 1) {
                throw new TypeError(`variable \`${name}\` cannot be kept: lists and objects in it stand more than ${given.deepest} deep in one another`);
            }
            const problem = what(key || name) ?? what(this[key]);
            if (problem !== null) {
                const at = key === "" ? "" : ` at \`${key}\``;
                throw new TypeError(`variable \`${name}\` cannot be kept: there is ${problem}${at}. Variables hold texts, numbers, booleans, lists and objects`);
            }
            return this[key] === undefined ? undefined : inner;
        });
        return text === undefined ? "null" : text;
    };
    const has = (name) => set.has(name) || (names.has(name) && !removed.has(name));
    const asked = (name) => {
        if (!before.has(name)) { before.set(name, parse(give(name))); }
        return before.get(name);
    };
    const getVar = (name) => {
        name = String(name);
        return set.has(name) ? set.get(name) : has(name) ? asked(name) : null;
    };
    const allowed = (name) => {
        if (name[0] !== "_" || name[1] !== "_" || given.earlier || (given.iterates && name === "__iteration_result")) { return; }
        throw new TypeError(`\`${name}\` cannot be written: names that begin with \`__\` belong to the engine; choose another name`);
    };
    const board = {
        getVar,
        setVar: (name, value) => { allowed(String(name)); set.set(String(name), value === undefined ? null : value); removed.delete(String(name)); },
        hasVar: (name) => has(String(name)),
        deleteVar: (name) => { allowed(String(name)); set.delete(String(name)); removed.add(String(name)); },
        getVars: () => {
            const all = new Set([...names, ...set.keys()]);
            const vars = fromEntries(from(all).filter(has).map((name) => [name, getVar(name)]));
            return given.earlier ? parse(stringify(vars)) : vars;
        },
    };
    // What was given and changed where it is was written too.
    const changed = () => from(before.keys()).filter((name) => {
        const value = before.get(name);
        return typeof value === "object" && value !== null && has(name) && !set.has(name)
            && kept(name, value) !== stringify(parse(give(name)));
    });
    const made = () => {
        changed().forEach((name) => set.set(name, before.get(name)));
        const all = from(set.entries()).map(([name, value]) => `${stringify(name)}:${kept(name, value)}`);
        return `{"vars":{${all.join(",")}},"removed":${stringify(from(removed))}}`;
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
        let all = null;
        try { all = fault === null && error === null ? made() : null; } catch (thrown) { failed(thrown); }
        return `{"made":${fault === null ? all : null},"error":${stringify(wellFormed(error))},"fault":${stringify(wellFormed(fault))}}`;
    };
})"#;

/// What a script is read by. Nothing of it runs: a text is read as a whole before its first statement, which throws. What ends the
/// function around it may be followed by other signs in either of the two shapes, so that a script which does so fails in one of them.
const READ: &str = r#"(function (source) {
    const problem = (before, after) => {
        try { (0, eval)(`throw null; ${before}\n${source}\n${after}`); } catch (thrown) { return thrown; }
    };
    const head = "0 ? function (board, config, signal, Date) {", tail = "} : 0";
    const found = problem(head, tail);
    const other = found ?? problem("({ script(board, config, signal, Date) {", "} })");
    if (other === null) { return null; }
    const read = /<input>:(\d+)/.exec(other.stack), last = source.trimEnd().split("\n").length;
    // One line of what is around it comes before its first.
    const line = read && read[1] > 1 ? read[1] - 1 : 1;
    const said = (message) => `${message}\n${Math.min(line, last)}`;
    if (found === null) { return said("a `}` that no `{` belongs to ends it before this"); }
    if (line <= last || !/^(unexpected (token|end)|expecting)/i.test(found.message)) { return said(found.message); }
    return said(problem(`${head}{`, tail) === null ? "it has a `}` that no `{` belongs to" : "it ends before it is complete");
})"#;

/// Runs a script; `None` if it was over before it came to an end.
pub(super) fn run(source: &str, given: Given, is_over: IsOver) -> Option<Result<String, String>> {
    let made = evaluated(source, given, is_over.clone());
    (!is_over.now()).then_some(made)
}

fn evaluated(source: &str, given: Given, is_over: IsOver) -> Result<String, String> {
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
        if let Some(problem) = unreadable(&ctx, source)? {
            let (message, line) = problem.rsplit_once('\n').unwrap_or((&problem, "1"));
            let fault = format!("SyntaxError: {message} (line {line} of the script)");
            return Ok(json!({"made": null, "error": null, "fault": fault}).to_string());
        }
        let frame: Function<'_> = ctx.eval(FRAME).catch(&ctx).map_err(fault)?;
        let input = given.announced();
        let give = Function::new(ctx.clone(), move |ctx: Ctx<'_>, name: String| {
            given.variable(&name).map_err(|problem| Exception::throw_type(&ctx, &problem))
        });
        let give = give.catch(&ctx).map_err(fault)?;
        let finish: Function<'_> = frame.call((source, input, give)).catch(&ctx).map_err(fault)?;
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
        context.with(|ctx| unreadable(&ctx, source)?.map_or(Ok(String::new()), Err))
    };
    let made = read();
    (!is_over.now()).then_some(made)
}

/// What keeps a script from being read, with its line after it.
fn unreadable(ctx: &Ctx<'_>, source: &str) -> Result<Option<String>, String> {
    let read: Function<'_> = ctx.eval(READ).catch(ctx).map_err(fault)?;
    read.call((source,)).catch(ctx).map_err(fault)
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
    let perhaps = if reason.is_null() { format!(", or the script {TOO_MUCH}") } else { String::new() };
    Some(format!("a promise failed: {text}{perhaps}"))
}

/// What went wrong around a script.
fn fault(error: CaughtError<'_>) -> String {
    let text = match &error {
        CaughtError::Exception(exception) => exception.message().unwrap_or_default(),
        other => other.to_string(),
    };
    let is_null = matches!(&error, CaughtError::Value(value) if value.is_null());
    match is_null || text.contains("out of memory") {
        true => format!("the script {TOO_MUCH}"),
        false => format!("the script failed: {}", text.trim()),
    }
}
