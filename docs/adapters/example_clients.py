"""A client of a chat API that remembers, with a scripted server."""

from __future__ import annotations

import json
import threading
from http.server import BaseHTTPRequestHandler, HTTPServer

from openai import OpenAI

from episodica.adapters import openai

script = iter(["Lyon is lovely!", "You live in Lyon."])


class Server(BaseHTTPRequestHandler):
    """Stands in for a model."""

    def do_POST(self) -> None:
        call = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        print("prompt:", ", ".join(message["role"] for message in call["messages"]))
        message = {"role": "assistant", "content": next(script)}
        choice = {"index": 0, "finish_reason": "stop", "message": message}
        made = {"id": "1", "object": "chat.completion", "created": 0, "model": "scripted"}
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.end_headers()
        self.wfile.write(json.dumps({**made, "choices": [choice]}).encode())

    def log_message(self, *_: object) -> None:
        pass


server = HTTPServer(("127.0.0.1", 0), Server)
threading.Thread(target=server.serve_forever, daemon=True).start()
client = OpenAI(base_url=f"http://127.0.0.1:{server.server_address[1]}/v1", api_key="none")

client = openai.wrap(client, "memories", "alice")  # the new line
for text in ["I moved to Lyon last week.", "Where do I live?"]:
    answer = client.chat.completions.create(
        model="scripted", messages=[{"role": "user", "content": text}]
    )
    print(answer.choices[0].message.content)
server.shutdown()
