"""`python -m evaluation nemori` runs scripts that were written for Nemori."""

from __future__ import annotations

from pathlib import Path

import pytest
from evaluation.__main__ import main

ADD = """
import json
from pathlib import Path
from nemori import MemoryConfig, NemoriMemory

fields = json.loads((Path(__file__).parent / "config.json").read_text())
config = MemoryConfig.from_dict({**fields, "llm_model": "a-model"})
for number, item in enumerate(json.loads(Path("dataset/locomo10.json").read_text())):
    talk = item["conversation"]
    user = f"{talk['speaker_a']}_{number}"
    with NemoriMemory(config) as memory:
        said = [{"role": one["speaker"], "content": one["text"]} for one in talk["session_1"][:9]]
        assert memory.add_messages(user, said)["status"] == "success"
        assert memory.flush(user) is not None
        assert memory.wait_for_semantic(user)
        assert (Path(config.storage_path) / "episodes" / f"{user}_episodes.jsonl").exists()
print("all were added")
"""
SEARCH = """
import json, os, urllib.request
from pathlib import Path
from nemori import MemoryConfig, NemoriMemory

config = MemoryConfig.from_dict(json.loads((Path(__file__).parent / "config.json").read_text()))
(item,) = json.loads(Path("dataset/locomo10.json").read_text())
with NemoriMemory(config) as memory:
    found = memory.search(item["conversation"]["speaker_a"] + "_0", item["qa"][0]["question"])
lines = [f"- {one['content']}" for one in found["episodic"]]
prompt = "\\n".join([*lines, f"Question: {item['qa'][0]['question']}"])
body = {"model": "a-model", "messages": [{"role": "user", "content": prompt}]}
request = urllib.request.Request(
    os.environ["OPENAI_BASE_URL"] + "/chat/completions",
    json.dumps(body).encode(),
    {"Content-Type": "application/json"},
)
answer = json.loads(urllib.request.urlopen(request).read())["choices"][0]["message"]["content"]
assert answer in prompt, answer
rows = [{"question": "q", "memories": [one for kind in found.values() for one in kind]}]
Path("locomo/results.json").write_text(json.dumps({"0": rows}))
"""
EMPTY = "from pathlib import Path\nPath('longmemeval/results.json').write_text('{\"a\": [{}]}')\n"


@pytest.fixture
def scripts(tmp_path: Path) -> Path:
    folder = tmp_path / "nemori" / "evaluation"
    for name, text in {
        "locomo/add.py": ADD,
        "locomo/search.py": SEARCH,
        "locomo/evals.py": "from rouge_score import rouge_scorer\n",
        "locomo/generate_scores.py": "print('the scores')\n",
        "longmemeval/add.py": "from src.core.memory_system import MemorySystem\n",
        "longmemeval/search.py": EMPTY,
    }.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    return folder.parent


@pytest.mark.timeout(120)
def test_scripts_are_run_and_what_they_found_is_counted(
    scripts: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "kept"
    # The search that found nothing counts as a failure, though its script ended without an error.
    assert main(["nemori", "--scripts", str(scripts), "--out", str(out)]) == 1
    said = capsys.readouterr().out
    log = (out / "evaluation" / "locomo" / "search.py.log").read_text()
    assert "locomo/add.py: exit 0" in said, said
    assert "all were added" in said
    assert "   1 questions, " in said, log
    assert "1 questions, 0.0 memories" in said
    assert "5 of 6 scripts succeeded" in said
    assert "answers 1" in said
    assert "memory " in said.rpartition("requests:")[2], "the engine asked its model, too"


def test_a_folder_without_scripts_is_an_error(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["nemori", "--scripts", str(tmp_path)]) == 2
    assert "no evaluation scripts of Nemori" in capsys.readouterr().err
