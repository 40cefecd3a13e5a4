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


def test_what_single_additions_left_to_a_thread_is_there_after_a_kill(
    store: Path, tmp_path: Path
) -> None:
    contents = ("I'm allergic to walnuts.", "Good morning!", "I work as a carpenter in Leeds.")
    talk = [
        {"role": "user", "content": content, "timestamp": f"2024-03-{day:02}T09:{at:02}:00Z"}
        for day in (4, 8, 12)
        for at, content in enumerate(contents)
    ]
    done = script(f"""
        import os
        from episodica import MemorySystem
        memory = MemorySystem({str(store)!r})
        for message in {talk!r}:
            assert memory.add_messages("alice", [message]).episodes == ()
        os._exit(0)
    """)
    assert (done.returncode, done.stderr) == (0, "")

    def derived(memory: MemorySystem) -> list[str]:
        facts = [fact.content for fact in memory.semantic_memories("alice")]
        return sorted([*facts, *(episode.title for episode in memory.episodes("alice"))])

    with MemorySystem(tmp_path / "one call") as whole:
        assert len(whole.add_messages("alice", talk).episodes) == 2
        expected = derived(whole)
        found = [hit.id for hit in whole.search("alice", "Which nuts?")]
    with MemorySystem(store) as memory:
        hits = memory.search("alice", "Which nuts?")
        assert ([hit.id for hit in hits], list(hits.degraded)) == (found, [])
        assert derived(memory) == expected


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


@pytest.mark.parametrize("kind", ["coroutine", "function", "embedder", "cancellable"])
def test_a_thread_inside_a_function_does_not_disturb_the_exit(store: Path, kind: str) -> None:
    # Python ends such threads when they want the interpreter again, here while a module goes.
    done = script(f"""
        import asyncio, threading, time
        from episodica import AsyncMemorySystem, MemorySystem

        begun = threading.Event()
        class Slow:
            def __del__(self, sleep=time.sleep):
                sleep(0.8)
        slow = Slow()
        def function(messages):
            begun.set()
            time.sleep(0.5)
            return "{{}}"
        async def coroutine(messages):
            begun.set()
            await asyncio.sleep(30)
        def embedder(texts):
            begun.set()
            time.sleep(0.5)
            return [[1.0, 0.0]] * len(texts)
        said = [{{"role": "user", "content": "I moved to Lyon."}}]
        def work():
            if {kind!r} == "cancellable":
                memory = AsyncMemorySystem({str(store)!r}, llm=function)
                async def flush():
                    await memory.add_messages("ann", said)
                    await memory.flush("ann")
                asyncio.run(flush())
            elif {kind!r} == "embedder":
                memory = MemorySystem({str(store)!r}, embedding=embedder)
            else:
                llm = coroutine if {kind!r} == "coroutine" else function
                memory = MemorySystem({str(store)!r}, llm=llm)
            memory.add_messages("ann", said)
            memory.flush("ann")
        import episodica.handle
        episodica.handle._FINALIZER_TIMEOUT_SECONDS = 0.0
        threading.Thread(target=work, daemon=True).start()
        begun.wait()
    """)
    assert done.returncode == 0, done.stderr
    assert "Fatal" not in done.stderr


def test_a_forked_child_goes_on_with_an_engine_of_its_own(store: Path) -> None:
    done = script(f"""
        import os, signal, warnings
        warnings.simplefilter("ignore")
        from episodica import LightweightSearchSystem, MemorySystem
        talk = [
            {{"role": "user", "content": f"message {{number}}", "message_id": str(number)}}
            for number in range(300)
        ]
        memory = MemorySystem({str(store)!r})
        memory.add_messages("alice", talk)
        reader = LightweightSearchSystem({str(store)!r})
        reader.search("alice", "hi")
        listing = memory.messages("alice")
        child = os.fork()
        if not child:
            signal.alarm(60)
            more = [{{"role": "user", "content": f"from the child {{n}}"}} for n in range(300)]
            assert memory.add_messages("alice", more).messages_added == 300
            assert len(list(listing)) == 600
            memory.flush("alice")
            assert memory.wait() and memory.verify().errors == 0
            assert memory.rebuild_indices().users == 1
            assert reader.search("alice", "child", kinds=["message"])
            with MemorySystem({str(store)!r} + "2") as other:
                other.add_messages("bob", talk)
            memory.close()
            del memory, reader
            raise SystemExit(0)
        assert os.waitpid(child, 0)[1] == 0
        print(len(list(memory.messages("alice"))))
        memory.close()
    """)
    assert (done.stdout, done.stderr) == ("600\n", "")


def test_calls_import_no_modules(store: Path) -> None:
    """A process that is forked while another thread imports a module waits for it forever."""
    done = script(f"""
        import sys
        from episodica import MemorySystem
        with MemorySystem({str(store)!r}) as memory:
            before = set(sys.modules)
            memory.add_messages("a", [{{"role": "user", "content": "I live in Lyon."}}])
            memory.flush("a")
            memory.wait("a")
            memory.search("a", "Lyon")
            memory.context("a", "Lyon")
            memory.delete("a", memory.messages("a")[0].message_id)
            print(sorted(set(sys.modules) - before))
    """)
    assert done.stdout.strip() == "[]", done.stderr


def test_a_child_forked_while_threads_work_never_hangs(store: Path) -> None:
    """The locks of the parent may be held by threads that the child does not have."""
    done = script(f"""
        import os, signal, threading, time, warnings
        warnings.simplefilter("ignore")
        from episodica import MemorySystem
        memory = MemorySystem({str(store)!r})
        stop = threading.Event()
        def work(name):
            number = 0
            while not stop.is_set():
                memory.add_messages(name, [{{"role": "user", "content": f"word{{number}}"}}])
                memory.search(name, "word")
                number += 1
        threads = [threading.Thread(target=work, args=(name,)) for name in "ab"]
        for thread in threads:
            thread.start()
        children = []
        for number in range(6):
            # The threads are at their first calls, which make what all share.
            time.sleep(0.01)
            child = os.fork()
            if not child:
                signal.alarm(60)
                memory.add_messages("a", [{{"role": "user", "content": f"child{{number}}"}}])
                found = memory.search("a", f"child{{number}}", kinds=["message"])
                ok = any(hit.content == f"child{{number}}" for hit in found)
                os._exit(0 if ok else 1)
            children.append(child)
        statuses = [os.waitpid(child, 0)[1] for child in children]
        stop.set()
        for thread in threads:
            thread.join()
        said = {{message.content for message in memory.messages("a")}}
        print(statuses, all(f"child{{number}}" in said for number in range(6)))
        memory.close()
    """)
    assert (done.stdout, done.stderr) == ("[0, 0, 0, 0, 0, 0] True\n", "")


def test_children_of_children_write_and_find(store: Path) -> None:
    done = script(f"""
        import os, signal, warnings
        warnings.simplefilter("ignore")
        from episodica import MemorySystem
        memory = MemorySystem({str(store)!r})
        depth = 0
        while depth < 10:
            talk = [{{"role": "user", "content": f"depth {{depth}} of {{n}}"}} for n in range(99)]
            assert memory.add_messages("alice", talk).messages_added == 99
            child = os.fork()
            if child:
                status = os.waitpid(child, 0)[1]
                assert status == 0, (depth, status)
                os._exit(0)
            signal.alarm(60)
            depth += 1
        print(len(memory.messages("alice")), flush=True)
        os._exit(0)
    """)
    assert (done.returncode, done.stdout, done.stderr) == (0, "990\n", "")


def test_a_parent_killed_in_the_middle_of_a_write_leaves_no_lock_to_its_child(store: Path) -> None:
    done = script(f"""
        import os, signal, threading, time, warnings
        warnings.simplefilter("ignore")
        from episodica import MemorySystem
        parent = os.fork()
        if not parent:
            memory = MemorySystem({str(store)!r})
            def work():
                while True:
                    memory.add_messages("a", [{{"role": "user", "content": "x" * 100_000}}])
            threading.Thread(target=work, daemon=True).start()
            time.sleep(0.3)
            for _ in range(20):
                if not os.fork():
                    os.closerange(0, 3)
                    time.sleep(20)
                    os._exit(0)
            os.kill(os.getpid(), signal.SIGKILL)
        os.waitpid(parent, 0)
        # If a child had the lock, this would end in an error after some seconds.
        with MemorySystem({str(store)!r}) as memory:
            memory.add_messages("a", [{{"role": "user", "content": "after"}}])
        print(True)
    """)
    assert (done.stdout, done.stderr) == ("True\n", "")


@pytest.mark.skipif(sys.platform == "win32", reason="stops with SIGSTOP")
def test_a_stopped_process_is_named_and_holds_nobody_for_ever(store: Path) -> None:
    locks = store / "locks"
    done = script(f"""
        import fcntl, os, signal, time
        from pathlib import Path
        from episodica import MemorySystem, StoreLockedError
        with MemorySystem({str(store)!r}) as memory:
            memory.add_messages("a", [{{"role": "user", "content": "first"}}])
            [lock] = Path({str(locks)!r}).glob("*.append")
            file = lock.open("r+")
            fcntl.flock(file, fcntl.LOCK_EX)
            file.write('{{"pid": 4711, "host": "here", "started": "2026-11-01T08:00:00Z"}}')
            file.truncate()
            file.flush()
            assert memory.search("a", "first", kinds=["message"]), "a search waits for no lock"
            started = time.monotonic()
            try:
                memory.add_messages("a", [{{"role": "user", "content": "second"}}])
            except StoreLockedError as error:
                print("`4711`" in str(error), time.monotonic() - started > 9)
            file.close()
            again = memory.add_messages("a", [{{"role": "user", "content": "second"}}])
            print(again.messages_added)
    """)
    assert (done.stdout, done.stderr) == ("True True\n1\n", "")


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


@pytest.mark.usefixtures("lyon")
def test_a_reader_closes_too(store: Path) -> None:
    reader = LightweightSearchSystem(store)
    reader.close()
    with pytest.raises(ClosedError, match="this LightweightSearchSystem is closed"):
        reader.search("alice", "Lyon")


@pytest.mark.parametrize("before", ["", "import episodica"])
def test_a_subinterpreter_is_refused_in_words(before: str) -> None:
    """Also if the main interpreter has loaded the engine, because Python would share it."""
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
