"""One of several processes on one store, until it is killed or told to stop.

``python worker.py STORE HISTORY NAME SEED`` prints ``ready``, then a line for each action:
``+ user id`` after `add_messages` has returned, ``? user id`` before and ``- user id`` after
`delete`, ``! words`` for a fault. A line on standard input makes it pause; then it answers the
questions on the next line, as JSON, and ends.

All processes write the begun and the acknowledged actions into one file, the history. A process
reads the history before it reads the store: the messages acknowledged by then must be there, the
messages deleted by then must not.
"""

from __future__ import annotations

import json
import logging
import os
import random
import select
import sys
import time
from pathlib import Path
from typing import Any

USERS = ("alice", "bob", "Çağla")
# Messages of this user are also deleted.
FORGETFUL = "Çağla"
# This user is deleted as a whole now and then, which only the history records.
ERASED = "dora"
THINGS = ("tea", "coffee", "chess", "opera", "cycling", "painting", "sailing", "pottery")


def model(messages: list[dict[str, str]]) -> str:
    """A slow model with useless answers: the rules take over."""
    time.sleep(0.1)
    return "I would rather not say."


def text(identity: str, number: int) -> str:
    """The content of a message: a word of its own, and facts about the speaker."""
    thing = THINGS[number % len(THINGS)]
    return f"zq{identity.replace('-', 'x')} My favourite thing is {thing}. I moved to town{number}."


def answers(memory: Any, questions: list[list[str]]) -> list[list[list[object]]]:
    """The results with their scores; equal scores may come in any order."""
    found = []
    for user, question in questions:
        hits = memory.search(user, question, kinds=("episodic", "semantic", "message"), top_k=30)
        found.append(sorted([hit.id, round(hit.score, 3)] for hit in hits))
    return found


def told_to_pause() -> bool:
    ready, _, _ = select.select([sys.stdin], [], [], 0)
    return bool(ready and sys.stdin.readline())


class History:
    """The actions of all processes, a line each, in the order of their writing.

    ``( user id``: the message is about to be added; ``+``: it was acknowledged; ``-``: its deletion
    was acknowledged; ``<`` and ``>`` stand around the deletion of a user; ``x``: a process was
    killed.
    """

    def __init__(self, path: str) -> None:
        self.path = Path(path)
        # Each line is one write at the end of the file, so lines of several processes don't mix.
        self.end = os.open(self.path, os.O_WRONLY | os.O_APPEND | os.O_CREAT)

    def say(self, sign: str, user: str, identity: str = "") -> None:
        os.write(self.end, f"{sign} {user} {identity}\n".encode())

    def events(self, user: str) -> list[tuple[str, str]]:
        # The last line may be incomplete, while another process writes it.
        lines = self.path.read_text(encoding="utf-8").split("\n")[:-1]
        said = [line.split(" ") for line in lines]
        return [(sign, identity) for sign, owner, identity in said if owner == user]


def due(events: list[tuple[str, str]]) -> tuple[set[str], set[str]]:
    """The messages that must be there for a reader after these events, and those that must not.

    A message must be there once it was acknowledged, unless a deletion of it or of the user ran
    while it was added or has begun since. It must be gone if it was acknowledged before the begin
    of a deletion that has returned. A deletion whose process was killed leaves open which earlier
    messages are there.
    """
    begun: dict[str, int] = {}
    acknowledged: set[str] = set()
    there: set[str] = set()
    gone: set[str] = set()
    # Deletions of the user under way, with the messages acknowledged before each.
    running: dict[str, set[str]] = {}
    quiet_since = 0
    for at, (sign, identity) in enumerate(events):
        if sign == "(":
            begun[identity] = at
        elif sign == "+":
            acknowledged.add(identity)
            if not running and begun[identity] >= quiet_since:
                there.add(identity)
        elif sign == "?":
            there.discard(identity)
        elif sign == "-":
            gone.add(identity)
        elif sign == "<":
            running[identity] = set(acknowledged)
            there.clear()
        else:
            ended = [mark for mark in running if f"{mark}:".startswith(f"{identity}:")]
            for mark in ended:
                before = running.pop(mark)
                gone |= before if sign == ">" else set()
            quiet_since = at if ended else quiet_since
    return there, gone


class Worker:
    """Adds messages, and does another operation in between."""

    def __init__(self, memory: Any, history: History, name: str, chance: random.Random) -> None:
        self.memory = memory
        self.history = history
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
        for message in messages:
            self.history.say("(", user, message["message_id"])
        self.memory.add_messages(user, messages)
        for message in messages:
            self.history.say("+", user, message["message_id"])
        if user == ERASED:
            return f"{self.name}-{numbers.start}"
        print("\n".join(f"+ {user} {message['message_id']}" for message in messages), flush=True)
        return f"{self.name}-{numbers.start}"

    def session(self) -> str:
        return f"{self.name}{self.number // 20}"

    def find(self, user: str, identity: str) -> None:
        hits = self.memory.search(user, f"zq{identity.replace('-', 'x')}", kinds=("message",))
        if user != ERASED and not any(hit.id == identity for hit in hits):
            print(f"! {identity} was added here and isn't found", flush=True)

    def list(self, user: str) -> None:
        there, gone = due(self.history.events(user))
        listed = [message.message_id for message in self.memory.messages(user)]
        if missing := there - set(listed) - self.deleted_since(user, there):
            print(f"! {user} lacks what was acknowledged before: {sorted(missing)}", flush=True)
        if back := gone & set(listed):
            print(f"! {user} has what was deleted before: {sorted(back)}", flush=True)
        if len(listed) != len(set(listed)):
            print(f"! a message of {user} is there twice", flush=True)
        before = set(self.seen.get(user, []))
        if user not in {FORGETFUL, ERASED} and not before <= set(listed):
            print(f"! {user} went back: {sorted(before - set(listed))}", flush=True)
        self.seen[user] = listed

    def deleted_since(self, user: str, there: set[str]) -> set[str]:
        """The messages whose deletion began while the store was read."""
        return there - due(self.history.events(user))[0]

    def look(self, user: str) -> None:
        """Searches for a message that any process was told is stored."""
        there, _ = due(self.history.events(user))
        if there:
            identity = self.chance.choice(sorted(there))
            word = f"zq{identity.replace('-', 'x')}"
            hits = self.memory.search(user, word, kinds=("message",))
            if not any(hit.id == identity for hit in hits) and not self.deleted_since(
                user, {identity}
            ):
                print(f"! {identity} of {user} was acknowledged and isn't found", flush=True)

    def delete(self, user: str, identity: str) -> None:
        if user == FORGETFUL:
            print(f"? {user} {identity}", flush=True)
            self.history.say("?", user, identity)
            self.memory.delete(user, identity)
            self.history.say("-", user, identity)
            print(f"- {user} {identity}", flush=True)
        elif user == ERASED:
            self.history.say("<", user, mark := f"{self.name}:{self.number}")
            self.memory.delete_user_data(user)
            self.history.say(">", user, mark)

    def step(self) -> None:
        user = self.chance.choice((*USERS, ERASED))
        identity = self.add(user)
        steps = [
            (15, lambda: self.memory.flush(user)),
            (5, lambda: self.memory.close_session(user, self.session())),
            (2, lambda: self.memory.rebuild_indices(user)),
            (13, lambda: self.find(user, identity)),
            (15, lambda: self.look(user)),
            (15, lambda: self.list(user)),
            (10, lambda: self.delete(user, identity)),
            (25, lambda: None),
        ]
        weights = [weight for weight, _ in steps]
        [(_, act)] = self.chance.choices(steps, weights)
        act()


def main(store: str, history: str, name: str, seed: int) -> None:
    from episodica import MemorySystem

    # The useless answers of the model cause a warning each.
    logging.getLogger("episodica").setLevel(logging.CRITICAL)
    options: dict[str, Any] = {"llm": model} if seed % 4 == 3 else {}
    if seed % 2:
        options["memory_budget_bytes"] = 200_000
    with MemorySystem(store, **options) as memory:
        print("ready", flush=True)
        worker = Worker(memory, History(history), name, random.Random(seed))
        while not told_to_pause():
            worker.step()
        memory.wait(timeout=60)
        print("paused", flush=True)
        questions = json.loads(sys.stdin.readline())
        print("= " + json.dumps(answers(memory, questions)), flush=True)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], sys.argv[3], int(sys.argv[4]))
