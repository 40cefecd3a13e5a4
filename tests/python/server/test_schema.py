"""The OpenAPI document, and generated requests by it: none may be answered by a 5xx."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

from episodica.server.keys import SCOPES, KeyRing
from episodica.server.settings import ServerSettings

from .conftest import Client, Served

# The least number of requests; `make fuzz-serve` sends 5,000.
REQUESTS = int(os.environ.get("EPISODICA_TEST_REQUESTS", "300"))
# Examples of each operation in a run of the fuzzer.
EXAMPLES, PHASES = (9, "fuzzing") if REQUESTS <= 300 else (60, "coverage,fuzzing")
# The stream of events has no end, and an import is not JSON.
LEFT_OUT = ("/v1/events", "/v1/users/{user}/import")
CHECKS = ",".join(
    (
        "not_a_server_error",
        "status_code_conformance",
        "content_type_conformance",
        "response_schema_conformance",
    )
)


@pytest.mark.requirement("SURFACES")
async def test_the_document_names_every_endpoint_and_failures_as_problems(client: Client) -> None:
    document = await client.json("GET", "/openapi.json")
    assert document["openapi"].startswith("3.")
    paths = document["paths"]
    assert {"/v1/users/{user}/messages", "/v1/events", "/memories", "/ready"} <= set(paths)
    ids = [one["operationId"] for path in paths.values() for one in path.values()]
    assert len(ids) == len(set(ids))
    search = paths["/v1/users/{user}/search"]["post"]
    assert "422" not in search["responses"]
    assert list(search["responses"]["400"]["content"]) == ["application/problem+json"]
    assert search["security"]
    assert "security" not in paths["/health"]["get"]


def statuses(log: Path) -> Counter[int]:
    """The statuses of the requests in an access log."""
    lines = log.read_text(encoding="utf-8").splitlines()
    entries = (line.partition(" episodica.access ")[2] for line in lines)
    return Counter(json.loads(entry)["status"] for entry in entries if entry)


@pytest.mark.timeout(3_600)
def test_no_generated_request_breaks_the_service(serve: Callable[..., Served], store: Path) -> None:
    fuzzer = Path(sys.executable).with_name("schemathesis")
    key, _ = KeyRing(ServerSettings(store=str(store)).keys_path).create(scopes=SCOPES)
    served = serve(env={"EPISODICA_SERVER_RATE_PER_MINUTE": "0"})
    for seed in range(50):
        done = subprocess.run(
            [
                *(str(fuzzer), "run", f"{served.url}/openapi.json", "--no-color"),
                *(part for path in LEFT_OUT for part in ("--exclude-path", path)),
                *("--header", f"Authorization: Bearer {key}", "--max-examples", str(EXAMPLES)),
                *("--phases", PHASES, "--checks", CHECKS, "--seed", str(seed)),
                "--continue-on-failure",
            ],
            capture_output=True,
            text=True,
            timeout=1_800,
            check=False,
        )
        assert done.returncode == 0, done.stdout[-6_000:]
        if statuses(served.log).total() >= REQUESTS:
            break
    found = statuses(served.log)
    assert found.total() >= REQUESTS
    assert {status for status in found if status >= 500} == set()
    assert {200, 201, 400, 404} <= set(found), "the requests reach the memory"
