#!/usr/bin/env python3
"""An MCP server whose tools leave a line each time they act: `counting_server.py FOLDER [TOOL:POINT]`.

FOLDER/TOOL has a line for every act: the key of the call. FOLDER/processes has the number of every process of this server.
With TOOL:POINT, the first call of TOOL kills the client there: `before` it acts (and then it does not), `late` (it acts when
the client is dead), `after` it has acted, `answered` when the answer is on its way.
"""
import json, os, signal, sys, time

FOLDER = sys.argv[1]
TOOL, POINT = (sys.argv[2:] or [":"])[0].split(":")
CLIENT = os.getppid()
TOOLS = [
    {"name": "send", "description": "Sends a letter.", "inputSchema": {"type": "object"}},
    {"name": "set", "description": "Sets the address.", "inputSchema": {"type": "object"},
     "annotations": {"idempotentHint": True}},
    {"name": "look", "description": "Looks at it.", "inputSchema": {"type": "object"},
     "annotations": {"readOnlyHint": True}},
]


def append(name, line):
    file = os.open(os.path.join(FOLDER, name), os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
    os.write(file, (line + "\n").encode())
    os.close(file)


def kill_at(tool, *points):
    """Kills the client if this is the place, once. Whether it did."""
    if tool != TOOL or POINT not in points:
        return False
    try:
        os.close(os.open(os.path.join(FOLDER, "killed"), os.O_WRONLY | os.O_CREAT | os.O_EXCL))
    except FileExistsError:
        return False
    os.kill(CLIENT, signal.SIGKILL)
    while os.getppid() == CLIENT:
        time.sleep(0.001)
    return True


def call(params, reply):
    tool, key = params["name"], params["_meta"]["convoke/idempotencyKey"]
    if kill_at(tool, "before"):
        sys.exit()
    kill_at(tool, "late")
    append(tool, key)
    kill_at(tool, "after")
    reply({"content": [{"type": "text", "text": f"{tool}: done"}]})
    kill_at(tool, "answered")


append("processes", str(os.getpid()))
for line in sys.stdin:
    message = json.loads(line)
    method, params = message.get("method"), message.get("params", {})

    def reply(result):
        print(json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": result}), flush=True)

    if method == "initialize":
        reply({"protocolVersion": params["protocolVersion"], "capabilities": {"tools": {}},
               "serverInfo": {"name": "counting", "version": "1"}})
    elif method == "tools/list":
        reply({"tools": TOOLS})
    elif method == "tools/call":
        call(params, reply)
