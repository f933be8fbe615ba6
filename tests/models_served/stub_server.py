"""A small OpenAI-compatible server that misbehaves on order; run as a process, it prints its port.

Usage: stub_server.py CONFIG_JSON. Keys of the configuration:
``delay`` seconds before each answer; ``faults`` {name: rate} and ``seed``; ``retry_after`` seconds;
``always`` {text in the prompt: fault or status}; ``choices`` the most choices it returns (null: all asked);
``refuse`` parameter names it answers with 400; ``echo_auth`` put the Authorization header into errors;
``echo_in_answer`` put it into every answer, as a debugging proxy might, or the key "percent" or "base64" encoded;
``lm`` serve a toy language model: "vllm", "sglang", "echo", "short" or "ignores";
``judge`` answer as a judge of known noise (``stub_judge.py``);
``refusals`` [{"setting", "message", "param" (true: named there)}]: settings refused in words of its own, "system" for
the role; ``stream_only`` a message with which it refuses whole answers; ``says`` the text of every answer;
``refuse_all`` the error that it answers every request with;
``longest`` the largest max_tokens it takes;
``owned_by`` who serves, in the list of models;
``thinks`` {"tokens", "by"}: a thought of so many tokens before each answer, told in a field ("field"), as a count
("count"), in the text ("text") or not at all ("hidden"); with "unless": a JSON setting that switches it off.
``teller`` {"tokens", "takes", "says"}: a long thought, which it continues or not (``stub_teller.py``).
``replies`` {text in the prompt: [[status, body], …]}, given in turn, the last of them for ever.
GET /__log returns every arrival, the most requests open at once and every Authorization header; GET /__delay/SECONDS
sets the delay of what arrives from then on.
"""

import asyncio
import base64
import email.utils
import json
import random
import sys
import time
import urllib.parse
from typing import Any

import stub_judge
import stub_teller
import toy_lm


class Stub:
    def __init__(self, config: dict[str, Any]) -> None:
        self.config = config
        self.random = random.Random(config.get("seed", 0))
        self.log: list[dict[str, Any]] = []
        self.open = self.most_open = self.judged = 0
        self.seen_auth: set[str] = set()
        self.given: dict[str, int] = {}

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while await self.exchange(reader, writer):
                pass
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            writer.close()

    async def exchange(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        first = await reader.readexactly(1)
        if not first.isupper():  # not HTTP: a TLS greeting, say; servers answer in their own language
            await send(writer, 400, {})
            return False
        head = (first + await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
        headers = {k.lower(): v.strip() for k, _, v in (line.partition(":") for line in head[1:] if line)}
        body = await reader.readexactly(int(headers.get("content-length", 0)))
        _method, path, _ = head[0].split(" ")
        if path == "/__log":
            seen = {"log": self.log, "most_open": self.most_open, "seen_auth": sorted(self.seen_auth)}
            return await send(writer, 200, seen)
        if path.startswith("/__delay/"):
            self.config["delay"] = float(path.removeprefix("/__delay/"))
            return await send(writer, 200, {})
        self.seen_auth.add(headers.get("authorization", ""))
        if path == "/v1/models":
            status = self.config.get("models_status", 200)
            listing = (
                {"data": [{"id": "stub", "owned_by": self.config.get("owned_by", "stub")}]}
                if status == 200
                else self.error(status, headers)
            )
            return await send(writer, status, listing)
        self.open += 1
        self.most_open = max(self.most_open, self.open)
        try:
            return await self.work(path, json.loads(body), headers, reader, writer)
        finally:
            self.open -= 1

    async def work(self, path, asked, headers, reader, writer) -> bool:
        text = json.dumps(asked.get("messages") or asked.get("prompt") or asked, ensure_ascii=False)
        fault = self.pick(text)
        self.log.append({"t": time.time(), "path": path, "asked": asked, "fault": fault})
        entry = self.log[-1]
        # A client that hangs up frees its place at once, as in a real server.
        gone = asyncio.ensure_future(reader.read(1))
        wait = 3600 if fault == "timeout" else self.config.get("delay", 0)
        done, _ = await asyncio.wait({gone}, timeout=wait)
        if done:
            entry["left"] = True
            return False
        gone.cancel()
        await asyncio.gather(gone, return_exceptions=True)
        entry["done"] = time.time()
        if path != "/v1/chat/completions" and self.config.get("lm"):
            status, answer = toy_lm.serve(self.config["lm"], path, asked)
            return await send(writer, status, answer)
        for part, replies in self.config.get("replies", {}).items():
            if part in text:
                turn = self.given[part] = self.given.get(part, -1) + 1
                return await send(writer, *replies[min(turn, len(replies) - 1)])
        for name in self.config.get("refuse", []):
            if name in asked:
                other = "max_completion_tokens" if name == "max_tokens" else "max_tokens"
                message = f"Unsupported parameter: '{name}' is not supported. Use '{other}' instead."
                problem = {"message": message, "param": name, "code": "unsupported_parameter"}
                return await send(writer, 400, {"error": problem})
        if problem := self.refusal(asked):
            return await send(writer, 400, {"error": problem})
        return await self.reply(fault, asked, headers, writer)

    def refusal(self, asked: dict[str, Any]) -> dict[str, Any] | None:
        """What it says of a setting that it refuses."""
        if "refuse_all" in self.config:
            return self.config["refuse_all"]
        roles = {message["role"] for message in asked.get("messages", [])}
        for refused in self.config.get("refusals", []):
            name = refused["setting"]
            if name in asked or (name == "system" and name in roles):
                return {"message": refused["message"], "param": name if refused.get("param") else None, "code": None}
        longest, limit = self.config.get("longest"), asked.get("max_tokens", 0)
        if longest is not None and limit > longest:
            said = f"'max_tokens' is too large: {limit}. This model's maximum context length is {longest} tokens."
            return {"message": said}
        if self.config.get("stream_only") and not asked.get("stream"):
            return {"message": self.config["stream_only"]}
        return None

    def think(self, answer: dict[str, Any], asked: dict[str, Any]) -> None:
        """Put a thought before each answer, or what of it fits into the limit."""
        how = self.config["thinks"]
        off = how.get("unless") or {}
        if off and all(asked.get(name) == value for name, value in off.items()):
            return
        limit = asked.get("max_completion_tokens", asked.get("max_tokens", 10**9))
        cut = limit < how["tokens"] + 5
        for choice in answer["choices"]:
            message = choice["message"]
            thought = "hm " * (limit if cut else how["tokens"])
            said = "" if cut else message["content"]
            message["content"] = said
            if how["by"] == "field":
                message["reasoning_content"] = thought
            if how["by"] == "text":
                message["content"] = f"<think>{thought}{'' if cut else '</think>'}{said}"
            choice["finish_reason"] = "length" if cut else "stop"
        if how["by"] == "count":
            answer["usage"]["completion_tokens_details"] = {"reasoning_tokens": min(limit, how["tokens"])}

    def pick(self, text: str) -> Any:
        for part, fault in self.config.get("always", {}).items():
            if part in text:
                return fault
        draw = self.random.random()
        for name, rate in self.config.get("faults", {}).items():
            draw -= rate
            if draw < 0:
                return name
        return None

    def error(self, status: int, headers: dict[str, str]) -> dict[str, Any]:
        message = f"made up {status}"
        if self.config.get("echo_auth"):
            message += " " * 280 + f"you sent {headers.get('authorization')}"
        return {"error": {"message": message, "code": self.config.get("code", "made_up")}}

    async def reply(self, fault: Any, asked: dict[str, Any], headers: dict[str, str], writer: Any) -> bool:
        wait = self.config.get("retry_after", 0.3)
        if fault == "429":
            return await send(writer, 429, self.error(429, headers), {"Retry-After": f"{wait}"})
        if fault == "429date":
            # Dates have whole seconds; the server's own clock is two hours ahead on purpose.
            now = int(time.time()) + 7200
            stamps = {"Date": email.utils.formatdate(now, usegmt=True)}
            stamps["Retry-After"] = email.utils.formatdate(now + wait, usegmt=True)
            return await send(writer, 429, self.error(429, headers), stamps)
        if isinstance(fault, int):
            return await send(writer, fault, self.error(fault, headers))
        if fault == "500":
            return await send(writer, 500, self.error(500, headers))
        answer = self.chat(asked)
        if fault == "empty":
            answer["choices"] = []
        if fault == "none":
            answer["choices"][0]["message"]["content"] = None
        if fault == "filtered":
            answer["choices"][0].update(finish_reason="content_filter", message={"role": "assistant", "content": "x"})
        if fault == "refusal":
            answer["choices"][0]["message"] = {"role": "assistant", "content": None, "refusal": "I will not."}
        if fault == "reasoning":
            answer["choices"][0]["message"] = {"role": "assistant", "content": "four", "reasoning_content": "2+2..."}
        if fault == "unfinished":
            answer["choices"][0].update(finish_reason="length", message={"role": "assistant", "content": None})
        if spelling := self.config.get("echo_in_answer"):
            sent = headers.get("authorization", "")
            if spelling == "percent":
                sent = urllib.parse.quote(sent.removeprefix("Bearer "), safe="")
            elif spelling == "base64":
                sent = base64.b64encode(sent.removeprefix("Bearer ").encode()).decode()
            said = f" (you sent {sent})"
            for choice in answer["choices"]:
                choice["message"]["content"] = f"{choice['message'].get('content')}{said}"
                choice["finish_reason"] = f"stop{said}"
        if "thinks" in self.config:
            self.think(answer, asked)
        if "teller" in self.config:
            said, ended, counts = stub_teller.reply(self.config["teller"], asked)
            answer["choices"] = [{"index": 0, "finish_reason": ended, "message": {"content": said}}]
            if "prompt" in asked:
                answer["choices"][0] = {"index": 0, "finish_reason": ended, "text": said}
            answer["usage"] = counts
        if "counts" in self.config:
            answer["usage"] = self.config["counts"]
        if asked.get("stream"):
            events = events_of(answer)
            if fault == "cut":
                events = events[:1]
            return await send_bytes(writer, 200, b"".join(events), {"Content-Type": "text/event-stream; charset=utf-8"})
        raw = json.dumps(answer).encode()
        if fault == "badjson":
            return await send_bytes(writer, 200, raw[: len(raw) // 2], {})
        if fault == "cut":
            writer.write(http_head(200, len(raw), {}) + raw[: len(raw) // 2])
            await writer.drain()
            return False
        if fault == "reset":
            writer.transport.abort()
            return False
        return await send_bytes(writer, 200, raw, {})

    def chat(self, asked: dict[str, Any]) -> dict[str, Any]:
        messages = asked.get("messages") or [{"content": asked.get("prompt")}]
        n = min(asked.get("n", 1), self.config.get("choices") or 1000)
        texts = [f"answer to {messages[-1]['content']} seed {asked.get('seed')} choice {i}" for i in range(n)]
        if "says" in self.config:
            texts = [self.config["says"]] * n
        if "judge" in self.config:
            self.judged += n
            numbers = range(self.judged - n, self.judged)
            texts = [stub_judge.reply(self.config["judge"], messages[-1]["content"], i) for i in numbers]
        choices = [
            {"index": i, "finish_reason": "stop", "message": {"role": "assistant", "content": text}, "text": text}
            if "prompt" in asked
            else {"index": i, "finish_reason": "stop", "message": {"role": "assistant", "content": text}}
            for i, text in enumerate(texts)
        ]
        self.random.shuffle(choices)
        usage = {"prompt_tokens": 7, "completion_tokens": 3 * n + 1, "total_tokens": 8 + 3 * n}
        return {"id": "x", "object": "chat.completion", "model": "stub", "choices": choices, "usage": usage}


def events_of(answer: dict[str, Any]) -> list[bytes]:
    """The answer as server-sent events: texts in pieces, what they cost at the end."""
    parts: list[dict[str, Any]] = []
    for choice in answer["choices"]:
        index = choice["index"]
        parts.append({"choices": [{"index": index, "delta": {"role": "assistant", "content": ""}}]})
        for name in ("reasoning_content", "content"):
            text = choice["message"].get(name) or ""
            pieces = [text[i : i + 7] for i in range(0, len(text), 7)]
            parts += [{"choices": [{"index": index, "delta": {name: piece}}]} for piece in pieces]
        parts.append({"choices": [{"index": index, "delta": {}, "finish_reason": choice["finish_reason"]}]})
    parts.append({"choices": [], "usage": answer["usage"]})
    return [f"data: {json.dumps(part)}\n\n".encode() for part in parts] + [b"data: [DONE]\n\n"]


def http_head(status: int, length: int, headers: dict[str, str]) -> bytes:
    kind = headers.pop("Content-Type", "application/json")
    lines = [f"HTTP/1.1 {status} X", f"Content-Type: {kind}", f"Content-Length: {length}"]
    return "\r\n".join([*lines, *(f"{k}: {v}" for k, v in headers.items()), "", ""]).encode()


async def send_bytes(writer: asyncio.StreamWriter, status: int, raw: bytes, headers: dict[str, str]) -> bool:
    writer.write(http_head(status, len(raw), headers) + raw)
    await writer.drain()
    return True


async def send(writer: asyncio.StreamWriter, status: int, body: Any, headers: dict[str, str] | None = None) -> bool:
    return await send_bytes(writer, status, json.dumps(body).encode(), headers or {})


async def main(config: dict[str, Any]) -> None:
    server = await asyncio.start_server(Stub(config).serve, "127.0.0.1", 0, backlog=1024, limit=2**24)
    print(server.sockets[0].getsockname()[1], flush=True)
    # Ends with the test process even if that is killed: its end of our standard input closes.
    await asyncio.get_running_loop().run_in_executor(None, sys.stdin.read)


if __name__ == "__main__":
    asyncio.run(main(json.loads(sys.argv[1])))
