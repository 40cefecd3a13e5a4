"""Opening, closing, collecting, forking, threads, interruption."""

from __future__ import annotations

import copy
import gc
import pickle
import subprocess
import sys
import textwrap
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from episodica import ClosedError, LightweightSearchSystem, MemorySystem


def script(text: str, **options: Any) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", textwrap.dedent(text)],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
        **options,
    )


def test_closing_twice_is_no_error(memory: MemorySystem) -> None:
    memory.close()
    memory.close(timeout=0)
    assert memory.closed
    assert "closed" in repr(memory)


def test_everything_refuses_after_close(lyon: MemorySystem) -> None:
    pages = lyon.messages("alice")
    lyon.close()
    for call in (
        lambda: lyon.add_messages("alice", [{"role": "user", "content": "hi"}]),
        lambda: lyon.search("alice", "Lyon"),
        lambda: lyon.messages("alice"),
        lambda: next(pages),
        lyon.users,
        lyon.__enter__,
    ):
        with pytest.raises(ClosedError) as caught:
            call()
        assert str(caught.value) == (
            "this MemorySystem is closed\nhint: open it again with `MemorySystem(path)`"
        )


def test_results_outlive_their_memory(lyon: MemorySystem) -> None:
    hits = lyon.search("alice", "Lyon", kinds=["message"])
    lyon.close()
    assert hits[0].content == "I moved to Lyon last Friday."


def test_a_forgotten_memory_gives_its_store_back(store: Path) -> None:
    forgotten = MemorySystem(store)
    forgotten.add_messages("alice", [{"role": "user", "content": "hi"}])
    del forgotten
    gc.collect()
    with MemorySystem(store) as memory:
        assert memory.users() == ["alice"]


def test_a_memory_left_open_does_not_disturb_the_exit(store: Path) -> None:
    done = script(f"""
        from episodica import MemorySystem
        memory = MemorySystem({str(store)!r})
        memory.add_messages("alice", [{{"role": "user", "content": "hi"}}])
    """)
    assert (done.returncode, done.stderr) == (0, "")


def test_a_forked_child_gets_a_clear_error(store: Path) -> None:
    done = script(f"""
        import os, warnings
        warnings.simplefilter("ignore")
        from episodica import EpisodicaError, MemorySystem
        memory = MemorySystem({str(store)!r})
        memory.add_messages("alice", [{{"role": "user", "content": "hi"}}])
        child = os.fork()
        if not child:
            try:
                memory.search("alice", "hi")
            except EpisodicaError as error:
                print(error.kind, error, flush=True)
            memory.close()
            del memory
            raise SystemExit(0)
        assert os.waitpid(child, 0)[1] == 0
        print(len(memory.search("alice", "hi", kinds=["message"])))
        memory.close()
    """)
    assert done.stderr == ""
    assert done.stdout.splitlines() == [
        "forked this MemorySystem was opened before the process was forked",
        "hint: start the process with the `spawn` method, "
        "or fork before the first memory is opened",
        "1",
    ]


def test_a_forked_child_is_refused_every_call_and_never_hangs(store: Path) -> None:
    """The child has none of the engine's threads: work that would wait for them must not begin."""
    done = script(f"""
        import os, signal, warnings
        warnings.simplefilter("ignore")
        from episodica import EpisodicaError, LightweightSearchSystem, MemorySystem
        talk = [{{"role": "user", "content": f"message {{number}}"}} for number in range(300)]
        memory = MemorySystem({str(store)!r})
        memory.add_messages("alice", talk)
        reader = LightweightSearchSystem({str(store)!r})
        listing = memory.messages("alice")
        child = os.fork()
        if not child:
            signal.alarm(30)
            calls = [
                lambda: memory.add_messages("alice", talk),
                lambda: memory.flush("alice"),
                lambda: memory.wait(),
                memory.stats,
                lambda: memory.context("alice", "hi"),
                lambda: memory.plot.timeline("alice"),
                memory.verify,
                memory.rebuild_indices,
                lambda: next(listing),
                lambda: reader.search("alice", "hi"),
                memory.__enter__,
                lambda: memory.delete_user_data("alice"),
                lambda: MemorySystem({str(store)!r} + "-2"),
                lambda: LightweightSearchSystem({str(store)!r}),
            ]
            kinds = []
            for call in calls:
                try:
                    call()
                    kinds.append("no error")
                except EpisodicaError as error:
                    assert "spawn" in error.hint
                    kinds.append(error.kind)
            print(kinds == ["forked"] * len(calls), kinds, flush=True)
            os._exit(0)
        assert os.waitpid(child, 0)[1] == 0
        memory.close()
    """)
    assert done.stderr == ""
    assert done.stdout.startswith("True"), done.stdout


def test_a_child_forked_before_the_first_memory_has_its_own(store: Path) -> None:
    done = script(f"""
        import os, signal, warnings
        warnings.simplefilter("ignore")
        from episodica import MemorySystem
        talk = [{{"role": "user", "content": f"message {{number}}"}} for number in range(300)]
        if not os.fork():
            signal.alarm(30)
            with MemorySystem({str(store)!r}) as memory:
                print(memory.add_messages("alice", talk).messages_added, flush=True)
            os._exit(0)
        assert os.wait()[1] == 0
    """)
    assert (done.stdout, done.stderr) == ("300\n", "")


def test_a_memory_is_not_pickled_or_copied(lyon: MemorySystem) -> None:
    for one in (lyon, lyon.messages("alice")):
        for act in (pickle.dumps, copy.copy, copy.deepcopy):
            with pytest.raises(TypeError, match="can't be copied or pickled"):
                act(one)


def test_free_use_from_threads(memory: MemorySystem) -> None:
    def work(number: int) -> int:
        user = f"user {number % 3}"
        for step in range(20):
            memory.add_messages(user, [{"role": "user", "content": f"{number} says {step}"}])
            assert memory.search(user, f"{number} says", kinds=["message"])
        return 20

    with ThreadPoolExecutor(6) as pool:
        assert sum(pool.map(work, range(6))) == 120
    assert sum(1 for user in memory.users() for _ in memory.messages(user)) == 120


def test_closing_while_others_work(memory: MemorySystem) -> None:
    started = threading.Event()
    unexpected: list[BaseException] = []

    def work() -> None:
        try:
            while True:
                memory.add_messages("alice", [{"role": "user", "content": "hi"}])
                started.set()
        except ClosedError:
            pass
        except BaseException as error:  # noqa: BLE001 - whatever it is, the test must see it
            unexpected.append(error)

    thread = threading.Thread(target=work)
    thread.start()
    started.wait(10)
    memory.close()
    thread.join(10)
    assert not thread.is_alive()
    assert unexpected == []


def test_a_reader_closes_too(lyon: MemorySystem) -> None:
    reader = LightweightSearchSystem(lyon.path)
    reader.close()
    with pytest.raises(ClosedError, match="this LightweightSearchSystem is closed"):
        reader.search("alice", "Lyon")


@pytest.mark.parametrize("before", ["", "import episodica"])
def test_a_subinterpreter_is_refused_in_words(before: str) -> None:
    """Also after the main interpreter has loaded the engine, which Python would hand out."""
    code = "try:\n    import episodica\nexcept ImportError as error:\n    print(error, flush=True)"
    done = script(f"""
        {before}
        try:
            import _interpreters as interpreters
        except ImportError:
            import _xxsubinterpreters as interpreters
        interpreters.run_string(interpreters.create(), {code!r})
    """)
    assert done.stdout.startswith("episodica can't run in a subinterpreter"), done.stderr
