"""One of several processes on one store, until it is killed or told to stop.

``python worker.py STORE NAME SEED``: prints ``ready``, then what it does, a line each:
``+ user id`` after `add_messages` has returned, ``? user id`` before and ``- user id`` after
`delete`, ``! words`` for what must not be. A line on standard input makes it pause; it answers the
questions on the next, as JSON, and ends.
"""

from __future__ import annotations

import json
import logging
import random
import select
import sys
import time
from typing import Any

USERS = ("alice", "bob", "Çağla")
# Messages of this user are deleted, too.
FORGETFUL = "Çağla"
THINGS = ("tea", "coffee", "chess", "opera", "cycling", "painting", "sailing", "pottery")


def model(messages: list[dict[str, str]]) -> str:
    """A model that takes its time and answers nothing of use: the rules take over."""
    time.sleep(0.1)
    return "I would rather not say."


def text(identity: str, number: int) -> str:
    """What a message says: a word of its own, and now and then something to learn."""
    thing = THINGS[number % len(THINGS)]
    return f"zq{identity.replace('-', 'x')} My favourite thing is {thing}. I moved to town{number}."


def answers(memory: Any, questions: list[list[str]]) -> list[list[list[object]]]:
    """What is found, with the score: of equal scores either may come first."""
    found = []
    for user, question in questions:
        hits = memory.search(user, question, kinds=("episodic", "semantic", "message"), top_k=30)
        found.append(sorted([hit.id, round(hit.score, 3)] for hit in hits))
    return found


def told_to_pause() -> bool:
    ready, _, _ = select.select([sys.stdin], [], [], 0)
    return bool(ready and sys.stdin.readline())


class Worker:
    """Adds messages, and does something else in between."""

    def __init__(self, memory: Any, name: str, chance: random.Random) -> None:
        self.memory = memory
        self.name = name
        self.chance = chance
        self.number = 0
        self.seen: dict[str, list[str]] = {}

    def add(self, user: str) -> str:
        """Adds a few messages; returns the id of the first."""
        numbers = range(self.number, self.number + self.chance.randint(1, 3))
        self.number = numbers.stop
        messages = [
            {
                "role": "user",
                "name": self.name,
                "content": text(f"{self.name}-{number}", number),
                "message_id": f"{self.name}-{number}",
                "timestamp": 1_700_000_000 + 60 * number,
                "session_id": self.session(),
            }
            for number in numbers
        ]
        self.memory.add_messages(user, messages)
        print("\n".join(f"+ {user} {message['message_id']}" for message in messages), flush=True)
        return f"{self.name}-{numbers.start}"

    def session(self) -> str:
        return f"{self.name}{self.number // 20}"

    def find(self, user: str, identity: str) -> None:
        hits = self.memory.search(user, f"zq{identity.replace('-', 'x')}", kinds=("message",))
        if not any(hit.id == identity for hit in hits):
            print(f"! {identity} was added here and isn't found", flush=True)

    def list(self, user: str) -> None:
        listed = [message.message_id for message in self.memory.messages(user)]
        if len(listed) != len(set(listed)):
            print(f"! a message of {user} is there twice", flush=True)
        before = set(self.seen.get(user, []))
        if user != FORGETFUL and not before <= set(listed):
            print(f"! {user} went back: {sorted(before - set(listed))}", flush=True)
        self.seen[user] = listed

    def delete(self, user: str, identity: str) -> None:
        if user == FORGETFUL:
            print(f"? {user} {identity}", flush=True)
            self.memory.delete(user, identity)
            print(f"- {user} {identity}", flush=True)

    def step(self) -> None:
        user = self.chance.choice(USERS)
        identity = self.add(user)
        steps = [
            (15, lambda: self.memory.flush(user)),
            (5, lambda: self.memory.close_session(user, self.session())),
            (2, lambda: self.memory.rebuild_indices(user)),
            (23, lambda: self.find(user, identity)),
            (15, lambda: self.list(user)),
            (10, lambda: self.delete(user, identity)),
            (30, lambda: None),
        ]
        weights = [weight for weight, _ in steps]
        [(_, act)] = self.chance.choices(steps, weights)
        act()


def main(store: str, name: str, seed: int) -> None:
    from episodica import MemorySystem

    # What the model answers is of no use, which is told each time.
    logging.getLogger("episodica").setLevel(logging.CRITICAL)
    options: dict[str, Any] = {"llm": model} if seed % 4 == 3 else {}
    if seed % 2:
        options["memory_budget_bytes"] = 200_000
    with MemorySystem(store, **options) as memory:
        print("ready", flush=True)
        worker = Worker(memory, name, random.Random(seed))
        while not told_to_pause():
            worker.step()
        memory.wait(timeout=60)
        print("paused", flush=True)
        questions = json.loads(sys.stdin.readline())
        print("= " + json.dumps(answers(memory, questions)), flush=True)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]))
