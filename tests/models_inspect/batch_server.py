"""A server with OpenAI's batch interface: files go in, a job is done when it is first asked about, files come out."""

import json
import re
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


class BatchServer:
    """``jobs``: the requests of each job, in the order they were sent; ``single``: calls outside any job."""

    def __init__(self) -> None:
        self.files: dict[str, bytes] = {}
        self.jobs: list[list[dict[str, Any]]] = []
        self.single = 0
        server = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers.get("content-length", 0)))
                if self.path == "/v1/files":
                    self.answer(server.upload(body))
                elif self.path == "/v1/batches":
                    self.answer(server.submit(json.loads(body)["input_file_id"]))
                else:
                    server.single += 1
                    self.answer(completion(json.loads(body)))

            def do_GET(self) -> None:
                if self.path.endswith("/content"):
                    self.answer(server.files[self.path.split("/")[-2]])
                else:
                    self.answer(server.state(int(self.path.split("-")[-1])))

            def answer(self, body: Any) -> None:
                raw = body if isinstance(body, bytes) else json.dumps(body).encode()
                self.send_response(200)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(raw)))
                self.end_headers()
                self.wfile.write(raw)

            def log_message(self, *_: Any) -> None:
                pass

        self._http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._http.server_address[1]}/v1"
        threading.Thread(target=self._http.serve_forever, daemon=True).start()

    def upload(self, body: bytes) -> dict[str, Any]:
        name = f"file-in-{len(self.files)}"
        # The multipart body's only JSON lines are the requests.
        self.files[name] = b"\n".join(re.findall(rb"^\{.*\}$", body, re.MULTILINE))
        size = len(self.files[name])
        said = {"object": "file", "created_at": 1, "filename": "x", "purpose": "batch", "status": "processed"}
        return {"id": name, "bytes": size, **said}

    def submit(self, file: str) -> dict[str, Any]:
        self.jobs.append([json.loads(line) for line in self.files[file].splitlines()])
        return self.state(len(self.jobs) - 1, done=False)

    def state(self, n: int, *, done: bool = True) -> dict[str, Any]:
        asked = self.jobs[n]
        job = {"id": f"batch-{n}", "object": "batch", "endpoint": "/v1/chat/completions", "input_file_id": "file-in-0"}
        job |= {"completion_window": "24h", "status": "completed" if done else "validating", "created_at": 1}
        if not done:
            return job
        lines = []
        for i, one in enumerate(reversed(asked)):
            response = {"status_code": 200, "body": completion(one["body"])}
            lines.append({"id": str(i), "custom_id": one["custom_id"], "error": None, "response": response})
        self.files[f"file-out-{n}"] = "\n".join(map(json.dumps, lines)).encode()
        counts = {"total": len(asked), "completed": len(asked), "failed": 0}
        return job | {"output_file_id": f"file-out-{n}", "request_counts": counts}

    def close(self) -> None:
        self._http.shutdown()
        self._http.server_close()


def completion(asked: dict[str, Any]) -> dict[str, Any]:
    message = {"role": "assistant", "content": f"answer to {asked['messages'][-1]['content']}"}
    choice = {"index": 0, "finish_reason": "stop", "message": message}
    usage = {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}
    return {"id": "x", "object": "chat.completion", "created": 1, "model": "m", "choices": [choice], "usage": usage}
