"""Frameworks in Python: a chain of steps that do nothing, graphs, an agent's turn with a model in the process, durable steps.

  peers.py ENGINE      prints a line of JSON for each kind of work
"""
import asyncio
import json
import os
import sys
import tempfile
import time

SPAN, LENGTH, GRAPH, BRANCHES, DURABLE = 3, 100, 10, 998, 10


def measure(engine, what, units, work):
    work()
    began, processor, rounds = time.perf_counter(), time.process_time(), 0
    while time.perf_counter() - began < SPAN:
        work()
        rounds += 1
    wall, cpu = time.perf_counter() - began, time.process_time() - processor
    each = lambda seconds: round(seconds * 1e6 / (rounds * units), 3)
    print(json.dumps({"engine": engine, "what": what, "wall_us": each(wall), "cpu_us": each(cpu)}), flush=True)


def version(package):
    from importlib.metadata import version

    return version(package)


def langgraph():
    import operator
    import sqlite3
    import typing

    from langchain_core.language_models.fake_chat_models import GenericFakeChatModel
    from langchain_core.messages import AIMessage
    from langgraph.checkpoint.sqlite import SqliteSaver
    from langgraph.graph import END, START, StateGraph
    from langgraph.prebuilt import create_react_agent

    class State(typing.TypedDict):
        n: int

    def chain(length, saver=None):
        graph = StateGraph(State)
        for index in range(length):
            graph.add_node(f"n{index}", lambda state: {"n": state["n"] + 1})
        names = [START, *(f"n{index}" for index in range(length)), END]
        for edge in zip(names, names[1:]):
            graph.add_edge(*edge)
        return graph.compile(checkpointer=saver)

    name, plain = f"LangGraph {version('langgraph')}", chain(LENGTH)
    measure(name, "chain", LENGTH, lambda: plain.invoke({"n": 0}, {"recursion_limit": 10 * LENGTH}))
    short = chain(GRAPH)
    measure(name, "graph", GRAPH, lambda: short.invoke({"n": 0}))

    class Sum(typing.TypedDict):
        n: typing.Annotated[int, operator.add]

    forked = StateGraph(Sum)
    forked.add_node("start", lambda state: {"n": 0})
    forked.add_node("join", lambda state: {"n": 0})
    for index in range(BRANCHES):
        forked.add_node(f"n{index}", lambda state: {"n": 1})
        forked.add_edge("start", f"n{index}")
    forked.add_edge([f"n{index}" for index in range(BRANCHES)], "join")
    forked.add_edge(START, "start")
    forked.add_edge("join", END)
    wide = forked.compile()

    def diamond():
        assert wide.invoke({"n": 0})["n"] == BRANCHES

    measure(name, "diamond", BRANCHES + 2, diamond)

    class Fake(GenericFakeChatModel):
        def bind_tools(self, tools, **more):
            return self

    def weather(city: str) -> str:
        """Looks up the weather."""
        return f"sunny in {city}"

    call = {"name": "weather", "args": {"city": "Oslo"}, "id": "1"}

    def replies():
        while True:
            yield AIMessage(content="", tool_calls=[call])
            yield AIMessage(content="Take your sunglasses.")

    agent = create_react_agent(Fake(messages=replies()), [weather])

    def turn():
        said = agent.invoke({"messages": [("user", "What should I pack?")]})
        assert said["messages"][-1].content == "Take your sunglasses."

    measure(name, "turn", 1, turn)

    with tempfile.TemporaryDirectory(dir=".") as folder:
        connection = sqlite3.connect(os.path.join(folder, "runs.db"), check_same_thread=False)
        saver = SqliteSaver(connection)
        saver.setup()
        connection.execute("PRAGMA synchronous = FULL")
        durable, runs = chain(DURABLE, saver), iter(range(10**9))

        def run():
            thread = {"configurable": {"thread_id": str(next(runs))}}
            assert durable.invoke({"n": 0}, thread, durability="sync")["n"] == DURABLE

        measure(f"{name}, SQLite, durability=sync", "durable", DURABLE, run)


def pydantic():
    from pydantic_ai import Agent, ModelResponse, TextPart, ToolCallPart
    from pydantic_ai.models.function import FunctionModel
    from pydantic_graph import GraphBuilder, StepContext

    builder = GraphBuilder(state_type=type(None), input_type=int, output_type=int, auto_instrument=False)

    def make(index):
        async def count(context: StepContext[None, None, int]) -> int:
            return context.inputs + 1

        return builder.step(node_id=f"n{index}")(count)

    nodes = [builder.start_node, *map(make, range(LENGTH)), builder.end_node]
    builder.add(*(builder.edge_from(one).to(other) for one, other in zip(nodes, nodes[1:])))
    graph, loop = builder.build(), asyncio.new_event_loop()

    def chain():
        assert loop.run_until_complete(graph.run(inputs=0)) == LENGTH

    measure(f"pydantic-graph {version('pydantic-graph')}", "chain", LENGTH, chain)

    def reply(messages, info):
        if len(messages) == 1:
            return ModelResponse(parts=[ToolCallPart("weather", {"city": "Oslo"})])
        return ModelResponse(parts=[TextPart("Take your sunglasses.")])

    agent = Agent(FunctionModel(reply))

    @agent.tool_plain
    def weather(city: str) -> str:
        """Looks up the weather."""
        return f"sunny in {city}"

    def turn():
        assert loop.run_until_complete(agent.run("What should I pack?")).output == "Take your sunglasses."

    measure(f"Pydantic AI {version('pydantic-ai-slim')}", "turn", 1, turn)


def dbos():
    # It needs SQLite 3.42; where Python has an older one, pysqlite3 stands in.
    try:
        sys.modules["sqlite3"] = __import__("pysqlite3")
    except ImportError:
        pass
    from dbos import DBOS, DBOSConfig

    folder = tempfile.mkdtemp(dir=".")
    address = f"sqlite:///{folder}/runs.db"
    DBOS(config=DBOSConfig(name="peers", system_database_url=address, run_admin_server=False, log_level="ERROR"))

    @DBOS.step()
    def step(count: int) -> int:
        return count + 1

    @DBOS.workflow()
    def chain() -> int:
        count = 0
        for _ in range(DURABLE):
            count = step(count)
        return count

    DBOS.launch()
    measure(f"DBOS {version('dbos')}, SQLite", "durable", DURABLE, chain)
    DBOS.destroy()
    __import__("shutil").rmtree(folder, ignore_errors=True)
    os._exit(0)


def temporal():
    """Steps are activities; the server is another process, whose processor time is not counted."""
    from temporalio.client import Client
    from temporalio.worker import Worker

    from temporal_chain import Chain, step

    async def run():
        client = await Client.connect(sys.argv[2])
        async with Worker(client, task_queue="peers", workflows=[Chain], activities=[step]):
            chain = lambda name: client.execute_workflow(Chain.run, DURABLE, id=name, task_queue="peers")
            await chain("once")
            began, rounds = time.perf_counter(), 0
            while time.perf_counter() - began < SPAN:
                assert await chain(f"run-{rounds}") == DURABLE
                rounds += 1
            each = (time.perf_counter() - began) * 1e6 / (rounds * DURABLE)
            line = {"engine": f"Temporal (SDK {version('temporalio')}), SQLite", "what": "durable", "wall_us": each, "cpu_us": None}
            print(json.dumps(line), flush=True)

    asyncio.run(run())


{"langgraph": langgraph, "pydantic": pydantic, "dbos": dbos, "temporal": temporal}[sys.argv[1]]()
