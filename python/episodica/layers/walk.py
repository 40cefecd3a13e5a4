"""The way from abstracts to contents: which folders lead to the answer of a question."""

from __future__ import annotations

from ..queries import search
from ..records import Episode
from ..results import Hit
from ..store import OpenStore
from .address import CORTEX, Address, decoded
from .tree import Tree
from .values import LAYERS, Entry, Exploration, Step

# The most texts that a walk compares, and folders of a level that it enters.
_CANDIDATES = 50
_BREADTH = 3


def walk(memory: OpenStore, tree: Tree, query: str, at: Address, top_k: int) -> Exploration:
    """Walks from a folder down to the texts that answer a question.

    One search scores the texts of each user by all layers; a folder has the score of its best text.
    """
    found: list[tuple[Address, Hit, str]] = []
    for user in _users(tree, at):
        for hit in search(memory, user, query, top_k=_CANDIDATES, kinds=("episodic", "semantic")):
            place = tree.place_of(hit.record, user)
            if place is not None and at.scheme != CORTEX:
                names = hit.uri.removeprefix("episodica://").split("/")
                place = Address(at.scheme, tuple(names))
            if place is not None and at.contains(place):
                found.append((place, hit, user))
    found.sort(key=lambda one: -one[1].score)
    steps: list[Step] = []
    reached = _descend(at, found, steps)
    chosen = [one for one in found if one[0] in reached][:top_k]
    for place, hit, _ in chosen:
        steps += _layers(place, hit)
    entries = tuple(
        Entry(
            str(place),
            place.names[-1],
            "episode" if isinstance(hit.record, Episode) else "fact",
            hit.title or hit.content,
            hit.timestamp,
            hit.uri,
        )
        for place, hit, _ in chosen
    )
    return Exploration(query, str(at), tuple(steps), tuple(hit for _, hit, _ in chosen), entries)


def _users(tree: Tree, at: Address) -> list[str]:
    """The users whose records can be below a place."""
    # The second name is the user's in `cortex://user/…` and in `episodica://tenant/user/…`.
    is_one = len(at.names) > 1 and (at.scheme != CORTEX or at.names[0] == "user")
    named = decoded(at.names[1]) if is_one else None
    return [user for user in tree.users() if not is_one or user == named]


def _descend(at: Address, found: list[tuple[Address, Hit, str]], steps: list[Step]) -> set[Address]:
    """Enters the best folders of each level; returns the texts that it comes to."""
    level = {at}
    texts: set[Address] = set()
    while level:
        scores: dict[Address, float] = {}
        for place, hit, _ in found:
            for parent in level:
                if not parent.contains(place) or place == parent:
                    continue
                child = Address(place.scheme, place.names[: len(parent.names) + 1])
                if child == place:
                    texts.add(place)
                else:
                    scores[child] = max(scores.get(child, 0.0), hit.score)
        ranked = sorted(scores.items(), key=lambda one: (-one[1], str(one[0])))
        for rank, (child, score) in enumerate(ranked):
            steps.append(Step(str(child), "L0", score, entered=rank < _BREADTH))
        level = {child for child, _ in ranked[:_BREADTH]}
    return texts


def _layers(place: Address, hit: Hit) -> list[Step]:
    """The layers of a text, each with its share of the score."""
    told = [layer for layer in LAYERS if layer in hit.scores]
    if not told:
        return [Step(str(place), "L0", hit.score, hit.content)]
    return [Step(str(place), layer, hit.scores[layer], hit.title) for layer in told]
