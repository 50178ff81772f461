"""What the official clients send for the requests our own test makes, one after the other.

    official.py anthropic|openai|compatible|gemini BASE_URL

The server that is asked only writes down what it gets; its answers make no sense, so errors are passed over.
"""

import contextlib
import sys

provider, url = sys.argv[1:]
CITY = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"], "additionalProperties": False}
PIXEL = "AAECAwQFBgcICQ=="


def sent(request):
    with contextlib.suppress(Exception):
        for _ in request() or []:
            pass


if provider == "anthropic":
    import anthropic

    client = anthropic.Anthropic(base_url=url, api_key="x", max_retries=0)

    def create(**options):
        sent(lambda: client.messages.create(model="m", max_tokens=100, stream=True, **options))

    tools = [{"name": "weather", "description": "Tells the weather.", "input_schema": CITY}]
    create(system=[{"type": "text", "text": "Be brief."}], stop_sequences=["END"],
           messages=[{"role": "user", "content": [{"type": "text", "text": "Hello"}]}])
    create(tools=tools, tool_choice={"type": "any"}, messages=[
        {"role": "user", "content": [{"type": "text", "text": "Weather?"}]},
        {"role": "assistant", "content": [
            {"type": "tool_use", "id": "c1", "name": "weather", "input": {"city": "Oslo"}},
            {"type": "tool_use", "id": "c2", "name": "weather", "input": {"city": "Bergen"}}]},
        {"role": "user", "content": [
            {"type": "tool_result", "tool_use_id": "c1", "content": "sunny"},
            {"type": "tool_result", "tool_use_id": "c2", "content": "no such city", "is_error": True}]}])
    create(messages=[{"role": "user", "content": [
        {"type": "text", "text": "What is this?"},
        {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": PIXEL}}]}])
elif provider == "openai":
    import openai

    client = openai.OpenAI(base_url=url, api_key="x", max_retries=0)

    def create(**options):
        sent(lambda: client.responses.create(model="m", stream=True, store=False, **options))

    create(max_output_tokens=100, temperature=0.5, input=[
        {"role": "developer", "content": [{"type": "input_text", "text": "Be brief."}]},
        {"role": "user", "content": [{"type": "input_text", "text": "Hello"}]}])
    create(tools=[{"type": "function", "name": "weather", "description": "Tells the weather.", "parameters": CITY, "strict": True}],
           tool_choice="required", max_output_tokens=100, input=[
        {"role": "user", "content": [{"type": "input_text", "text": "Weather?"}]},
        {"type": "function_call", "call_id": "c1", "name": "weather", "arguments": '{"city":"Oslo"}'},
        {"type": "function_call", "call_id": "c2", "name": "weather", "arguments": '{"city":"Bergen"}'},
        {"type": "function_call_output", "call_id": "c1", "output": "sunny"},
        {"type": "function_call_output", "call_id": "c2", "output": "Error: no such city"}])
    create(max_output_tokens=100, input=[{"role": "user", "content": [
        {"type": "input_text", "text": "What is this?"},
        {"type": "input_image", "image_url": "data:image/png;base64," + PIXEL}]}])
elif provider == "compatible":
    import openai

    client = openai.OpenAI(base_url=url, api_key="x", max_retries=0)

    def create(**options):
        sent(lambda: client.chat.completions.create(
            model="m", stream=True, stream_options={"include_usage": True}, max_tokens=100, **options))

    call = lambda name, city: {"id": name, "type": "function", "function": {"name": "weather", "arguments": '{"city":"%s"}' % city}}
    create(temperature=0.5, stop=["END"], messages=[
        {"role": "system", "content": "Be brief."}, {"role": "user", "content": "Hello"}])
    create(tools=[{"type": "function", "function": {"name": "weather", "description": "Tells the weather.", "parameters": CITY}}],
           tool_choice="required", messages=[
        {"role": "user", "content": "Weather?"},
        {"role": "assistant", "tool_calls": [call("c1", "Oslo"), call("c2", "Bergen")]},
        {"role": "tool", "tool_call_id": "c1", "content": "sunny"},
        {"role": "tool", "tool_call_id": "c2", "content": "Error: no such city"}])
    create(messages=[{"role": "user", "content": [
        {"type": "text", "text": "What is this?"},
        {"type": "image_url", "image_url": {"url": "data:image/png;base64," + PIXEL}}]}])
elif provider == "gemini":
    import base64

    from google import genai
    from google.genai import types

    client = genai.Client(api_key="x", http_options=types.HttpOptions(base_url=url, api_version="v1beta"))
    text = types.Part.from_text

    def create(contents, **config):
        sent(lambda: client.models.generate_content_stream(
            model="gemini-2.5-flash", contents=contents, config=types.GenerateContentConfig(max_output_tokens=100, **config)))

    create([types.Content(role="user", parts=[text(text="Hello")])],
           system_instruction=types.Content(parts=[text(text="Be brief.")]), temperature=0.5, stop_sequences=["END"])
    tool = types.Tool(function_declarations=[types.FunctionDeclaration(
        name="weather", description="Tells the weather.", parameters_json_schema=CITY)])
    call = lambda name, city: types.Part(function_call=types.FunctionCall(id=name, name="weather", args={"city": city}))
    result = lambda name, value: types.Part(function_response=types.FunctionResponse(id=name, name="weather", response=value))
    create([types.Content(role="user", parts=[text(text="Weather?")]),
            types.Content(role="model", parts=[call("c1", "Oslo"), call("c2", "Bergen")]),
            types.Content(role="user", parts=[result("c1", {"output": "sunny"}), result("c2", {"error": "no such city"})])],
           tools=[tool], tool_config=types.ToolConfig(function_calling_config=types.FunctionCallingConfig(mode="ANY")))
    create([types.Content(role="user", parts=[
        text(text="What is this?"), types.Part.from_bytes(data=base64.b64decode(PIXEL), mime_type="image/png")])])
else:
    sys.exit(f"no such provider: {provider}")
