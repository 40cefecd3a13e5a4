"""Runs the notebooks of docs/notebooks, each in an empty folder, and saves their outputs.

With --check it saves nothing, runs each notebook twice in its folder, as people do, and fails where
the text that a cell prints is not the one that the notebook shows. Pictures are not compared: they
differ between versions of Matplotlib. One kernel runs all, and forgets the names of each.

Outputs stay small and are the same each time: no execution times, no counters of the kernel, no
warnings about fonts.
"""

from __future__ import annotations

import argparse
import os
import re
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import nbformat
from jupyter_client.manager import KernelManager
from nbclient import NotebookClient

FOLDER = Path(__file__).parents[1] / "docs" / "notebooks"
# A page of the docs should load at once.
MAX_BYTES = 600_000
# Runs before a notebook.
BEGIN = """
%reset -f
import os
os.chdir({folder!r})
formatter = get_ipython().display_formatter
formatter.active_types = {forms}
del os, formatter
"""
PRINTED = '["text/plain"]'
PICTURE = re.compile(r"<\w*Figure ")
VARYING = re.compile(r"0x[0-9a-f]+|/tmp/\S+|\d+(?:\.\d+)? m?s\b|memory_bytes=\d+")


@contextmanager
def kernel() -> Iterator[tuple[KernelManager, Path]]:
    """A kernel that runs one notebook after the other, and a folder for theirs."""
    with tempfile.TemporaryDirectory() as place:
        # Sockets in the file system, so that nothing listens on a network, not even on loopback.
        manager = KernelManager(kernel_name="python3", transport="ipc", ip=f"{place}/kernel")
        manager.start_kernel()
        try:
            yield manager, Path(place)
        finally:
            manager.shutdown_kernel(now=True)


def run(path: Path, write: bool, manager: KernelManager, folder: Path) -> None:
    """Executes a notebook in a new folder; an error in a cell ends the run."""
    folder.mkdir()
    # Drawing takes most of the time: the second run of a check only prints.
    for forms in ("formatter.format_types",) if write else ("formatter.format_types", PRINTED):
        notebook = nbformat.read(path, as_version=4)
        shown = texts(notebook)
        begin = BEGIN.format(folder=str(folder), forms=forms)
        notebook.cells.insert(0, nbformat.v4.new_code_cell(begin))
        NotebookClient(notebook, km=manager, timeout=120).execute()
        del notebook.cells[0]
        tidy(notebook)
        if not write:
            compare(path, shown, texts(notebook))
    text = nbformat.writes(notebook) + "\n"
    if len(text) > MAX_BYTES:
        raise SystemExit(f"{path.name} has {len(text):,} bytes, at most {MAX_BYTES:,} are allowed")
    if write:
        path.write_text(text, encoding="utf-8")


def compare(path: Path, shown: list[str], printed: list[str]) -> None:
    """Ends the program if a cell prints another text than the notebook shows."""
    for number, (old, new) in enumerate(zip(shown, printed, strict=True)):
        if old != new:
            raise SystemExit(
                f"{path.name}: cell {number} prints\n{new}\nand shows\n{old}\n"
                "`python tools/notebooks.py` brings the notebooks up to date"
            )


def texts(notebook: nbformat.NotebookNode) -> list[str]:
    """What each cell prints, without memory addresses and file names."""
    found = []
    for cell in notebook.cells:
        parts = []
        for output in cell.get("outputs", ()):
            if output.output_type == "stream" and output.name == "stdout":
                parts.append(output.text)
            elif "data" in output:
                plain = str(output.data.get("text/plain", ""))
                parts.append("" if PICTURE.match(plain) else plain)
        found.append(VARYING.sub("…", "".join(parts)))
    return found


def tidy(notebook: nbformat.NotebookNode) -> None:
    """Removes everything that differs from run to run."""
    notebook.metadata = {
        "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
        "language_info": {"name": "python"},
    }
    for number, cell in enumerate(notebook.cells):
        cell.id = f"cell-{number}"
        cell.metadata = {}
        if cell.cell_type == "code":
            cell.execution_count = None
            # Logged failures name ports, which differ each time.
            cell.outputs = [one for one in cell.outputs if one.get("name") != "stderr"]
            for output in cell.outputs:
                if "execution_count" in output:
                    output.execution_count = None


def main() -> int:
    """Runs the notebooks that are named, or all."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("notebooks", nargs="*", type=Path)
    parser.add_argument("--check", action="store_true", help="write nothing")
    args = parser.parse_args()
    for name in [name for name in os.environ if name.startswith(("EPISODICA_", "OPENAI_"))]:
        del os.environ[name]
    # The kernel uses the interpreter of this process, whatever else is installed.
    os.environ["JUPYTER_PATH"] = str(Path(sys.prefix) / "share" / "jupyter")
    with kernel() as (manager, place):
        for path in args.notebooks or sorted(FOLDER.glob("*.ipynb")):
            run(path, not args.check, manager, place / path.stem)
            sys.stderr.write(f"{path.name}: ran\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
