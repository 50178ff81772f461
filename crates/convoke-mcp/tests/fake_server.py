#!/usr/bin/env python3
"""A small MCP server for tests, over standard streams or (`http PORT-FILE`) streamable HTTP, in either revision.

Options: --stateless speaks 2026-07-28; --pages lists one tool a page; --die-at-start; --hang ignores everything;
--hang-up ends on a question it does not know; --log FILE appends every message received, a line each;
--only NAME offers that tool alone (again and again for more); --more offers the tools in MORE, too; --unreadable NAME offers
a tool whose inputSchema is a number, too; --garbage says nonsense
before every answer, and sends messages that nobody waits for once it is called; --betray (HTTP) refuses everything, quoting the key it was given;
--busy (HTTP) answers no call; --cut (HTTP) hangs up instead; --forget (HTTP) has lost its session when it is first called.
"""
import base64, json, os, sys, threading, time

ARGS = sys.argv[1:]
has = lambda option: option in ARGS
value = lambda option: ARGS[ARGS.index(option) + 1] if option in ARGS else None
STATELESS = has("--stateless")
LOCK = threading.Lock()
WAITING = {}
CANCELLED = set()
STATE = {"grown": False, "asked": 0, "deaf": False, "called": False, "forgot": False}
NOISE = [b"not a message", b"", b"{", b"\xff\xfe\x00", b"y" * 100_000]
STRAY = [b"{}", b"[1, 2]", b'"text"', b"null", b'{"jsonrpc": "2.0"}', b'{"jsonrpc": "2.0", "id": "nobody", "result": {}}',
         b'{"jsonrpc": "2.0", "id": 7777, "error": {"code": 1, "message": "x"}}', b'{"jsonrpc": "2.0", "id": {}, "result": 5}',
         b'{"jsonrpc": "2.0", "method": "notifications/nonsense"}', b'{"jsonrpc": "2.0", "id": 1, "method": "nonsense/do"}',
         b'{"jsonrpc": "2.0", "method": "notifications/progress", "params": {"progressToken": "nobody", "progress": "x"}}']


def log(message):
    if value("--log"):
        with open(value("--log"), "a") as file:
            file.write(json.dumps(message) + "\n")


def tool(name, description, required=(), hints=None, /, **properties):
    made = {"name": name, "description": description,
            "inputSchema": {"type": "object", "properties": properties, "required": list(required)}}
    if hints is not None:
        made["annotations"] = hints
    return made


TEXT = {"type": "string"}
TOOLS = [
    tool("echo", "Says it again.", ["text"], {"readOnlyHint": True, "openWorldHint": False}, text=TEXT),
    tool("hello", "Two pieces."),
    tool("env", "Shows a variable.", ["name"], name=TEXT),
    tool("names", "Lists the variables it sees."),
    tool("fail", "Fails."),
    tool("refuse", "Refuses."),
    tool("picture", "Shows a picture."),
    tool("sum", "Adds up.", ["a", "b"], {"idempotentHint": True}, a={"type": "number"}, b={"type": "number"}),
    tool("slow", "Takes for ever."),
    tool("steps", "Says how far it is."),
    tool("die", "Ends the server."),
    tool("die_reading", "Ends the server the first time.", (), {"readOnlyHint": True}),
    tool("ask", "Asks a person."),
    tool("ask_late", "Asks a person when nobody is calling."),
    tool("roots", "Asks for roots."),
    tool("sample", "Asks for a model."),
    tool("grow", "Has more tools from now on."),
    tool("spawn", "Starts a process that outlives it, and gives its number."),
]
MORE = [
    tool("ask_reading", "Asks a person, and changes nothing.", (), {"readOnlyHint": True}),
    tool("huge", "Says much.", ["bytes"], bytes={"type": "integer"}),
    tool("deaf", "Hears nothing any more. Gives its process."),
    tool("betray", "Refuses, and says a variable.", ["name"], name=TEXT),
    tool("die_saying", "Ends the server, which says the last word of a variable.", ["name"], name=TEXT),
]
ONLY = [ARGS[at + 1] for at, arg in enumerate(ARGS) if arg == "--only"]
FORM = {"type": "object", "required": ["name", "size"], "properties": {
    "name": {"type": "string", "title": "Your name", "minLength": 2},
    "size": {"type": "string", "enum": ["s", "m"], "enumNames": ["small", "medium"]},
    "age": {"type": "integer", "default": 30, "minimum": 1},
    "keep": {"type": "boolean"}}}


class Refusal(Exception):
    pass


def text(words):
    return {"content": [{"type": "text", "text": words}]}


def call(params, send, request):
    name, args = params["name"], params.get("arguments", {})
    STATE["called"] = True
    if name == "echo": return text(args["text"])
    if name == "hello": return {"content": [{"type": "text", "text": "hello "}, {"type": "text", "text": "world"}]}
    if name == "env": return text(os.environ.get(args["name"], "(not set)"))
    if name == "names": return text(",".join(sorted(os.environ)))
    if name == "fail": return {**text("it broke"), "isError": True}
    if name == "refuse": raise Refusal("not today")
    if name == "picture": return {"content": [{"type": "image", "mimeType": "image/png", "data": base64.b64encode(b"1234").decode()}]}
    if name == "sum": return {"content": [], "structuredContent": {"sum": args["a"] + args["b"]}}
    if name == "slow":
        while request not in CANCELLED: time.sleep(0.01)
        return None
    if name == "steps":
        for step in (1, 2):
            send({"jsonrpc": "2.0", "method": "notifications/progress", "params": {
                "progressToken": params["_meta"]["progressToken"], "progress": step, "total": 2, "message": f"step {step}"}})
            time.sleep(0.05)
        return text("done")
    if name == "die" or name == "die_reading" and not os.path.exists(value("--log") + ".died"):
        if value("--log"): open(value("--log") + ".died", "w").close()
        print("dying of", os.environ.get("SECRET", "nothing"), file=sys.stderr, flush=True)
        os._exit(3)
    if name == "die_reading": return text("alive")
    if name == "huge": return text("x" * args["bytes"])
    if name == "deaf":
        STATE["deaf"] = True
        return text(str(os.getpid()))
    if name == "betray": raise Refusal("wrong key: " + os.environ[args["name"]])
    if name == "die_saying":
        print("dying of", os.environ[args["name"]].split()[-1], file=sys.stderr, flush=True)
        os._exit(3)
    if name == "repeat":
        send({"jsonrpc": "2.0", "method": "notifications/progress", "params": {
            "progressToken": params["_meta"]["progressToken"], "progress": 1, "total": 1, "message": "with " + args["text"]}})
        time.sleep(0.05)
        ask(send, "elicitation/create", {"message": "Use " + args["text"] + "?", "requestedSchema": {"type": "object", "properties": {}}})
        return text("asked about " + args["text"])
    if name in ("ask", "ask_reading") and STATELESS:
        given = params.get("inputResponses")
        if given is None:
            return {"resultType": "input_required", "requestState": "opaque", "inputRequests": {
                "who": {"method": "elicitation/create", "params": {"mode": "form", "message": "Who are you?", "requestedSchema": FORM}}}}
        assert params["requestState"] == "opaque", params
        return text(json.dumps(given["who"], sort_keys=True))
    if name in ("ask", "ask_reading"):
        return text(json.dumps(ask(send, "elicitation/create", {"message": "Who are you?", "requestedSchema": FORM}), sort_keys=True))
    if name == "ask_late":
        def later():
            time.sleep(0.1)
            log({"late": ask(send, "elicitation/create", {"message": "Still there?", "requestedSchema": {"type": "object", "properties": {}}})})
        threading.Thread(target=later, daemon=True).start()
        return text("later")
    if name == "roots": return text(json.dumps(ask(send, "roots/list", {})))
    if name == "sample": return text(json.dumps(ask(send, "sampling/createMessage", {
        "messages": [{"role": "user", "content": {"type": "text", "text": "hi"}}], "maxTokens": 5})))
    if name == "grow":
        STATE["grown"] = True
        send({"jsonrpc": "2.0", "method": "notifications/tools/list_changed"})
        return text("grown")
    if name == "new": return text("new")
    if name == "spawn":
        child = os.fork()
        if child == 0:
            for descriptor in (0, 1, 2): os.close(descriptor)
            time.sleep(600); os._exit(0)
        return text(str(child))
    if name in ONLY: return text(f"called {name}")
    raise Refusal(f"Unknown tool: {name}")


def ask(send, method, params):
    with LOCK:
        STATE["asked"] += 1
        number = f"ask-{STATE['asked']}"
        WAITING[number] = (threading.Event(), {})
    send({"jsonrpc": "2.0", "id": number, "method": method, "params": params})
    event, answer = WAITING[number]
    event.wait(20)
    return answer.get("result", answer.get("error"))


def tools():
    listed = list(TOOLS) + ([tool("new", "Was not there before.")] if STATE["grown"] else [])
    listed = [made for made in listed if not ONLY or made["name"] in ONLY]
    known = {made["name"] for made in TOOLS}
    listed += [{"name": name, "inputSchema": {"type": "object"}} for name in ONLY if name not in known]
    if value("--unreadable"): listed.insert(0, {"name": value("--unreadable"), "inputSchema": 5})
    return listed + (MORE if has("--more") else [])


def answer(message, send):
    method, params, number = message["method"], message.get("params", {}), message["id"]
    done = {"resultType": "complete", "ttlMs": 0, "cacheScope": "private"} if STATELESS else {}
    capabilities = {"tools": {"listChanged": True}, "resources": {}, "prompts": {}}
    if method == "server/discover" and STATELESS:
        return {**done, "supportedVersions": ["2026-07-28"], "capabilities": capabilities,
                "_meta": {"io.modelcontextprotocol/serverInfo": {"name": "fake", "version": "1"}}}
    if method == "initialize" and not STATELESS:
        return {"protocolVersion": params["protocolVersion"], "capabilities": capabilities, "serverInfo": {"name": "fake", "version": "1"}}
    if method == "tools/list":
        listed = tools()
        if has("--pages"):
            at = int(params.get("cursor", 0))
            page = {"tools": listed[at:at + 1]}
            if at + 1 < len(listed): page["nextCursor"] = str(at + 1)
            return {**done, **page}
        return {**done, "tools": listed}
    if method == "resources/list":
        return {**done, "resources": [{"uri": "note://one", "name": "one", "mimeType": "text/plain"}]}
    if method == "resources/templates/list":
        return {**done, "resourceTemplates": [{"uriTemplate": "note://{name}", "name": "any"}]}
    if method == "resources/read":
        return {**done, "contents": [{"uri": params["uri"], "mimeType": "text/plain", "text": "the note"}]}
    if method == "prompts/list":
        return {**done, "prompts": [{"name": "greet", "arguments": [{"name": "who", "required": True}]}]}
    if method == "prompts/get":
        return {**done, "messages": [{"role": "user", "content": {"type": "text", "text": f"Greet {params['arguments']['who']}."}}]}
    if method == "tools/call":
        result = call(params, send, number)
        return result and {**done, **result}
    if has("--hang-up"): os._exit(1)
    raise Refusal(f"Method not found: {method}")


def handle(message, send):
    log(message)
    if "method" not in message:
        event, given = WAITING.get(message.get("id"), (threading.Event(), {}))
        given.update(message); event.set()
        return None
    if message["method"] == "notifications/cancelled":
        CANCELLED.add(message["params"]["requestId"])
    if "id" not in message: return None
    try:
        result = answer(message, send)
        return result and {"jsonrpc": "2.0", "id": message["id"], "result": result}
    except Refusal as refusal:
        code = -32601 if "Method" in str(refusal) else -32602
        return {"jsonrpc": "2.0", "id": message["id"], "error": {"code": code, "message": str(refusal)}}


def over_streams():
    def send(message):
        with LOCK:
            lines = NOISE + (STRAY if STATE["called"] else []) if has("--garbage") else []
            lines = lines + [json.dumps(message).encode()]
            sys.stdout.buffer.write(b"".join(line + b"\n" for line in lines)); sys.stdout.flush()
    def work(message):
        reply = handle(message, send)
        if reply: send(reply)
    for line in sys.stdin:
        while STATE["deaf"]: time.sleep(0.01)
        if has("--hang"): continue
        threading.Thread(target=work, args=(json.loads(line),), daemon=True).start()


def over_http():
    from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        def log_message(self, *_): pass
        def do_GET(self): self.plain(405)
        def do_DELETE(self): self.plain(200)
        def plain(self, code, body=b"", kind="application/json"):
            self.send_response(code)
            self.send_header("Content-Length", str(len(body)))
            if body: self.send_header("Content-Type", kind)
            if not STATELESS: self.send_header("Mcp-Session-Id", "the-session")
            self.end_headers(); self.wfile.write(body)
        def do_POST(self):
            message = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            if has("--betray"):
                return self.plain(400, ("wrong key: " + self.headers["Authorization"].split()[-1]).encode(), "text/plain")
            if value("--token") and self.headers.get("Authorization") != "Bearer " + value("--token"):
                return self.plain(401)
            if "id" not in message or "method" not in message:
                handle(message, None); return self.plain(202)
            if has("--busy") and message["method"] == "tools/call":
                return self.plain(503, b"busy", "text/plain")
            if has("--forget") and message["method"] == "tools/call" and not STATE["forgot"]:
                STATE["forgot"] = True
                return self.plain(404)
            if message["method"] != "tools/call":
                return self.plain(200, json.dumps(handle(message, None)).encode())
            self.send_response(200)
            self.send_header("Content-Type", "text/event-stream"); self.send_header("Connection", "close")
            self.end_headers()
            def send(one):
                self.wfile.write(f"data: {json.dumps(one)}\n\n".encode()); self.wfile.flush()
            reply = handle(message, send)
            if reply and not has("--cut"): send(reply)
            self.close_connection = True

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    with open(ARGS[1] + ".part", "w") as file: file.write(str(server.server_port))
    os.rename(ARGS[1] + ".part", ARGS[1])
    server.serve_forever()


if has("--die-at-start"):
    print("no such luck:", os.environ.get("SECRET", ""), file=sys.stderr); sys.exit(2)
over_http() if ARGS[:1] == ["http"] else over_streams()
