"""Wire formats of four providers: parse a request into a `Turn`, and write an answer as a stream of events.

Each dialect is one class and covers what the tested programs use. None of them decides what is answered.
"""

from __future__ import annotations

import itertools
import json
import time
import uuid
from collections.abc import Iterator, Sequence
from typing import Any, Protocol

from tests.real.scenarios import USED_UP, Call, Refuse, Say, Step, Turn

ANSWER = NEW, CACHED, ANSWERED = 312, 2000, 42
"""The usage reported with every answer: input, cached and output tokens."""

Body = dict[str, Any]
Event = tuple[str, float]
"""A piece of the stream, and the seconds to wait after it."""


class Dialect(Protocol):
    def turn(self, body: Body) -> Turn: ...

    def aside(self, body: Body) -> str:
        """The answer to a request that the program makes on its own behalf; empty for a user's request."""
        ...

    def stream(self, body: Body, steps: Sequence[Step]) -> Iterator[Event]: ...

    def whole(self, body: Body, steps: Sequence[Step]) -> Body:
        """The answer in one piece, for a request without streaming."""
        ...

    def refusal(self, refuse: Refuse) -> Body: ...


def _named(prefix: str) -> str:
    return f"{prefix}_{uuid.uuid4().hex[:20]}"


def _spoken(steps: Sequence[Step]) -> str:
    return "".join(word for step in steps if isinstance(step, Say) for word in step.words)


def _texts(content: Any) -> list[str]:
    """The texts of a message's content, which is a string or a list of parts."""
    if isinstance(content, str):
        return [content]
    return [part["text"] for part in content or [] if isinstance(part.get("text"), str)]


class Anthropic:
    """claude's format: Anthropic Messages."""

    def turn(self, body: Body) -> Turn:
        said: list[str] = []
        newest: list[str] = []
        results = 0
        for message in body["messages"]:
            texts = [text for text in _texts(message["content"]) if not _is_reminder(text)]
            said += texts
            if message["role"] != "user":
                continue
            parts = message["content"] if isinstance(message["content"], list) else []
            results += sum(part.get("type") == "tool_result" for part in parts)
            if texts:
                newest, results = texts, 0
        tools = {tool["name"]: tool.get("input_schema", {}) for tool in body.get("tools", [])}
        return Turn(tuple(newest), tuple(said), results, tools)

    def aside(self, body: Body) -> str:
        return "" if body.get("tools") else '{"title": "A test"}'

    def stream(self, body: Body, steps: Sequence[Step]) -> Iterator[Event]:
        yield self._event("message_start", message=self._message(body, [], None)), 0.0
        for index, step in enumerate(steps):
            yield from self._block(index, step)
        stop = "tool_use" if any(isinstance(step, Call) for step in steps) else "end_turn"
        delta = {"stop_reason": stop, "stop_sequence": None}
        yield self._event("message_delta", delta=delta, usage={"output_tokens": ANSWERED}), 0.0
        yield self._event("message_stop"), 0.0

    def whole(self, body: Body, steps: Sequence[Step]) -> Body:
        return self._message(body, [{"type": "text", "text": _spoken(steps)}], "end_turn")

    def _message(self, body: Body, content: list[Body], stop: str | None) -> Body:
        return {
            "id": _named("msg"), "type": "message", "role": "assistant", "model": body["model"],
            "content": content, "stop_reason": stop, "stop_sequence": None,
            "usage": {"input_tokens": 12, "cache_creation_input_tokens": NEW - 12, "output_tokens": 1,
                      "cache_read_input_tokens": CACHED},
        }  # fmt: skip

    def _block(self, index: int, step: Step) -> Iterator[Event]:
        if isinstance(step, Say):
            block: Body = {"type": "text", "text": ""}
            deltas = [({"type": "text_delta", "text": word}, step.pause) for word in step.words]
        else:
            block = {"type": "tool_use", "id": _named("toolu"), "name": step.tool, "input": {}}
            deltas = [({"type": "input_json_delta", "partial_json": json.dumps(step.arguments)}, 0.0)]
        yield self._event("content_block_start", index=index, content_block=block), 0.0
        for delta, pause in deltas:
            yield self._event("content_block_delta", index=index, delta=delta), pause
        yield self._event("content_block_stop", index=index), 0.0

    def _event(self, kind: str, **fields: Any) -> str:
        return f"event: {kind}\ndata: {json.dumps({'type': kind, **fields})}\n\n"

    def refusal(self, refuse: Refuse) -> Body:
        kind = {400: "invalid_request_error", 401: "authentication_error", 429: "rate_limit_error"}
        error = {"type": kind.get(refuse.code, "api_error"), "message": refuse.message}
        return {"type": "error", "error": error}


def _is_reminder(text: str) -> bool:
    """Text claude adds to a message."""
    return text.lstrip().startswith(("<system-reminder>", "[Request interrupted"))


class Responses:
    """codex's format: OpenAI Responses."""

    def turn(self, body: Body) -> Turn:
        said: list[str] = []
        newest: list[str] = []
        results = 0
        for item in body["input"]:
            texts = [text for text in _texts(item.get("content")) if not text.lstrip().startswith("<")]
            said += texts
            if item["type"].endswith("_call_output"):
                results += 1
            elif item.get("role") == "user" and texts:
                newest, results = texts, 0
        tools = {tool["name"]: tool.get("parameters", {}) for tool in body.get("tools", []) if "name" in tool}
        return Turn(tuple(newest), tuple(said), results, tools)

    def aside(self, body: Body) -> str:
        return "" if body.get("tools") else "A test"

    def whole(self, body: Body, steps: Sequence[Step]) -> Body:
        raise NotImplementedError("codex always asks for a stream")

    def stream(self, body: Body, steps: Sequence[Step]) -> Iterator[Event]:
        numbers = itertools.count()

        def event(kind: str, **fields: Any) -> str:
            data = json.dumps({"type": kind, "sequence_number": next(numbers), **fields})
            return f"event: {kind}\ndata: {data}\n\n"

        response: Body = {"id": _named("resp"), "object": "response", "model": body["model"], "output": []}
        yield event("response.created", response={**response, "status": "in_progress"}), 0.0
        for index, step in enumerate(steps):
            item = self._item(step)
            response["output"].append(item)
            empty = {**item, "status": "in_progress"} | ({"content": []} if isinstance(step, Say) else {})
            yield event("response.output_item.added", output_index=index, item=empty), 0.0
            if isinstance(step, Say):
                for word in step.words:
                    place = {"item_id": item["id"], "output_index": index, "content_index": 0}
                    yield event("response.output_text.delta", **place, delta=word), step.pause
            yield event("response.output_item.done", output_index=index, item=item), 0.0
        usage = {
            "input_tokens": NEW + CACHED, "input_tokens_details": {"cached_tokens": CACHED},
            "output_tokens": ANSWERED, "total_tokens": NEW + CACHED + ANSWERED,
        }  # fmt: skip
        yield event("response.completed", response={**response, "status": "completed", "usage": usage}), 0.0

    def _item(self, step: Step) -> Body:
        if isinstance(step, Say):
            content = [{"type": "output_text", "text": "".join(step.words), "annotations": []}]
            return {"id": _named("msg"), "type": "message", "role": "assistant", "status": "completed",
                    "content": content}  # fmt: skip
        return {"id": _named("fc"), "type": "function_call", "status": "completed", "call_id": _named("call"),
                "name": step.tool, "arguments": json.dumps(step.arguments)}  # fmt: skip

    def refusal(self, refuse: Refuse) -> Body:
        if refuse.message == USED_UP:
            resets = {
                "plan_type": "plus",
                "resets_at": int(time.time()) + 3 * 3600,
                "resets_in_seconds": 3 * 3600,
            }
            return {"error": {"type": "usage_limit_reached", "message": USED_UP, **resets}}
        kind = "rate_limit_exceeded" if refuse.code == 429 else "invalid_request_error"
        return {"error": {"message": refuse.message, "type": kind, "code": kind, "param": None}}


class Chat:
    """opencode's format: OpenAI Chat Completions."""

    def turn(self, body: Body) -> Turn:
        said: list[str] = []
        newest: list[str] = []
        results = 0
        for message in body["messages"]:
            texts = _texts(message.get("content"))
            said += texts
            if message["role"] == "tool":
                results += 1
            elif message["role"] == "user" and texts:
                newest, results = texts, 0
        functions = [tool["function"] for tool in body.get("tools") or []]
        tools = {function["name"]: function.get("parameters", {}) for function in functions}
        return Turn(tuple(newest), tuple(said), results, tools)

    def aside(self, body: Body) -> str:
        return "" if body.get("tools") or _is_aider(body) else "A test"

    def whole(self, body: Body, steps: Sequence[Step]) -> Body:
        message = {"role": "assistant", "content": _spoken(steps)}
        choices = [{"index": 0, "message": message, "finish_reason": "stop"}]
        return {
            "id": _named("chatcmpl"),
            "object": "chat.completion",
            "model": body["model"],
            "choices": choices,
        }

    def stream(self, body: Body, steps: Sequence[Step]) -> Iterator[Event]:
        base = {
            "id": _named("chatcmpl"),
            "object": "chat.completion.chunk",
            "created": 0,
            "model": body["model"],
        }

        def event(delta: Body, finish: str | None = None) -> str:
            choices = [{"index": 0, "delta": delta, "finish_reason": finish}]
            return f"data: {json.dumps({**base, 'choices': choices})}\n\n"

        yield event({"role": "assistant", "content": ""}), 0.0
        calls = [step for step in steps if isinstance(step, Call)]
        for step in steps:
            if isinstance(step, Say):
                for word in step.words:
                    yield event({"content": word}), step.pause
        for index, call in enumerate(calls):
            function = {"name": call.tool, "arguments": json.dumps(call.arguments)}
            made = {"index": index, "id": _named("call"), "type": "function", "function": function}
            yield event({"tool_calls": [made]}), 0.0
        yield event({}, "tool_calls" if calls else "stop"), 0.0
        usage = {
            "prompt_tokens": NEW + CACHED, "prompt_tokens_details": {"cached_tokens": CACHED},
            "completion_tokens": ANSWERED, "total_tokens": NEW + CACHED + ANSWERED,
        }  # fmt: skip
        yield f"data: {json.dumps({**base, 'choices': [], 'usage': usage})}\n\n", 0.0
        yield "data: [DONE]\n\n", 0.0

    def refusal(self, refuse: Refuse) -> Body:
        return Responses().refusal(refuse)


def _is_aider(body: Body) -> bool:
    """It offers no tools and follows what the answer says."""
    return "Act as an expert software developer" in str(body["messages"][0].get("content"))


class Gemini:
    """gemini's format: generateContent."""

    def turn(self, body: Body) -> Turn:
        said: list[str] = []
        newest: list[str] = []
        results = 0
        for content in body["contents"]:
            texts = _texts(content["parts"])
            said += texts
            answered = sum("functionResponse" in part for part in content["parts"])
            results += answered
            if content.get("role") == "user" and texts and not answered:
                newest, results = texts, 0
        declared = [one for tool in body.get("tools") or [] for one in tool.get("functionDeclarations", [])]
        tools = {
            one["name"]: one.get("parametersJsonSchema") or one.get("parameters", {}) for one in declared
        }
        return Turn(tuple(newest), tuple(said), results, tools)

    def aside(self, body: Body) -> str:
        if body.get("generationConfig", {}).get("responseMimeType") != "application/json":
            return ""
        return json.dumps({"complexity_reasoning": "simple", "complexity_score": 10, "reasoning": "simple",
                           "model_choice": "flash", "next_speaker": "user"})  # fmt: skip

    def stream(self, body: Body, steps: Sequence[Step]) -> Iterator[Event]:
        for step in steps:
            if isinstance(step, Say):
                for word in step.words:
                    yield self._event({"text": word}), step.pause
            else:
                yield self._event({"functionCall": {"name": step.tool, "args": step.arguments}}), 0.0
        yield self._event({"text": ""}, finishReason="STOP"), 0.0

    def whole(self, body: Body, steps: Sequence[Step]) -> Body:
        return self._candidate({"text": _spoken(steps)}, finishReason="STOP")

    def _event(self, part: Body, **fields: Any) -> str:
        return f"data: {json.dumps(self._candidate(part, **fields))}\r\n\r\n"

    def _candidate(self, part: Body, **fields: Any) -> Body:
        candidate = {"content": {"role": "model", "parts": [part]}, "index": 0, **fields}
        usage = {
            "promptTokenCount": NEW + CACHED, "cachedContentTokenCount": CACHED,
            "candidatesTokenCount": ANSWERED, "totalTokenCount": NEW + CACHED + ANSWERED,
        }  # fmt: skip
        return {"candidates": [candidate], "usageMetadata": usage}

    def refusal(self, refuse: Refuse) -> Body:
        status = "RESOURCE_EXHAUSTED" if refuse.code == 429 else "INVALID_ARGUMENT"
        return {"error": {"code": refuse.code, "message": refuse.message, "status": status}}
