"""A process that adds messages until it is killed, and prints which ones were acknowledged.

``python ingest.py STORE ROUND`` prints ``ready`` when the store is open, then ``+ user number``
after `add_messages` has returned for a message, ``- user number`` after `delete` has. The content
of a message follows from its user and number, see :func:`text`.
"""

from __future__ import annotations

import random
import sys

USERS = ("alice", "bob_the_2nd", "Çağla")


def text(user: str, number: int) -> str:
    """The content of the message: a word of its own, and enough text that a write takes a while."""
    length = 60_000 if number % 17 == 0 else number % 40
    return (
        f'{word(user, number)} said on day {number}: "été" \u2028 \U0001f600 '
        + "and so on " * length
        + "end."
    )


def word(user: str, number: int) -> str:
    """A word that no other message has."""
    letters = "".join("bcdfghjkmp"[int(digit)] for digit in f"{number:05}")
    return f"zq{USERS.index(user)}{letters}v"


def main(store: str, round_number: int) -> None:
    from episodica import MemorySystem

    chance = random.Random(round_number)
    number = round_number * 1_000
    with MemorySystem(store) as memory:
        print("ready", flush=True)
        while True:
            user = chance.choice(USERS)
            batch = range(number, number + chance.randint(1, 6))
            number = batch.stop
            stamps = [1_700_000_000 + 60 * n for n in batch]
            memory.add_messages(
                user,
                [
                    {
                        "role": "user",
                        "content": text(user, n),
                        "timestamp": stamp,
                        "message_id": f"{user}-{n}",
                        "session_id": f"s{n // 50}",
                    }
                    for n, stamp in zip(batch, stamps, strict=True)
                ],
            )
            print("\n".join(f"+ {user} {n}" for n in batch), flush=True)
            step = chance.random()
            if step < 0.15:
                memory.flush(user)
            elif step < 0.2:
                memory.close_session(user, f"s{number // 50}")
            elif step < 0.3:
                memory.search(user, "what was said?")
            elif step < 0.4:
                # A message is named before it is deleted: if the process ends in between, the
                # message may be there or not.
                print(f"? {user} {batch[0]}", flush=True)
                memory.delete(user, f"{user}-{batch[0]}")
                print(f"- {user} {batch[0]}", flush=True)


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
