"""Tests the HTTP service with a client that is generated from its OpenAPI document.

`make test-client` runs it. The generator has an environment of its own under .cache/client, which
is made once.
"""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from urllib.request import urlopen

ROOT = Path(__file__).parents[1]
HOME = ROOT / ".cache" / "client"
GENERATOR = "openapi-python-client==0.29.1"

# Runs in the generator's environment, in the folder of the client.
CHECK = """
import sys
from episodica_client import Client, models
from episodica_client.api.messages import add_messages
from episodica_client.api.questions import context, search
from episodica_client.api.records import list_facts
from episodica_client.api.users import stats

client = Client(base_url=sys.argv[1])
message = {"role": "user", "name": "Alice", "content": "I live in Paris."}
body = models.AddMessages.from_dict({"messages": [message], "wait": "facts"})
added = add_messages.sync(user="al/ice", client=client, body=body)
assert [one.event for one in added.events] == ["ADD"], added
body = models.Search.from_dict({"query": "where does Alice live?"})
found = search.sync(user="al/ice", client=client, body=body)
assert "Paris" in found.hits[0].content, found
assert len(list_facts.sync(user="al/ice", client=client).items) == 1
assert stats.sync(user="al/ice", client=client).messages == 1
body = models.AskContext.from_dict({"query": "where does Alice live?", "max_tokens": 200})
assert context.sync(user="al/ice", client=client, body=body).fenced
wrong = models.Search.from_dict({"query": ""})
refused = search.sync(user="al/ice", client=client, body=wrong)
assert isinstance(refused, models.Problem) and refused.status == 400, refused
"""


def main() -> int:
    python = HOME / "bin" / "python"
    if not (HOME / "bin" / "openapi-python-client").exists():
        subprocess.run([sys.executable, "-m", "venv", "--clear", str(HOME)], check=True)
        subprocess.run([str(python), "-m", "pip", "install", "--quiet", GENERATOR], check=True)
    with (
        tempfile.TemporaryDirectory(prefix="episodica-client-") as folder,
        socket.socket() as probe,
    ):
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
        probe.close()
        url = f"http://127.0.0.1:{port}"
        command = [sys.executable, "-m", "episodica", "serve", "--store", f"{folder}/store"]
        service = subprocess.Popen([*command, "--port", str(port)], stderr=subprocess.DEVNULL)
        try:
            document = Path(folder, "openapi.json")
            document.write_text(json.dumps(_fetched(f"{url}/openapi.json")), encoding="utf-8")
            path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
            subprocess.run(
                [str(HOME / "bin" / "openapi-python-client"), "generate", "--path", str(document)],
                cwd=folder,
                env={**os.environ, "PATH": path},
                check=True,
                timeout=300,
            )
            subprocess.run(
                [str(python), "-c", CHECK, url],
                cwd=Path(folder, "episodica-client"),
                check=True,
                timeout=120,
            )
        finally:
            service.terminate()
            service.wait(60)
    print("the generated client works")
    return 0


def _fetched(url: str) -> object:
    for _ in range(300):
        try:
            with urlopen(url, timeout=30) as answer:
                return json.load(answer)
        except OSError:
            time.sleep(0.2)
    raise RuntimeError("the service did not start")


if __name__ == "__main__":
    raise SystemExit(main())
