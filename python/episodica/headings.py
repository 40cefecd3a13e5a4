"""The words of a profile around its facts, in the languages that have them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal, TypeAlias, get_args

from . import _native

NOTE = "note"
"""The category of facts of other kinds that were stated directly."""

Language: TypeAlias = Literal["en", "zh", "de", "fr", "es"]
LANGUAGES: tuple[Language, ...] = get_args(Language)
_CATEGORIES = ("personal_info", "work_history", "preference", "relationship", "goal", NOTE)
# The headings are Chinese if at least this share of the facts is.
_CHINESE_SHARE = 0.5


@dataclass(frozen=True, slots=True)
class Words:
    """The headings, and the words around dates, former texts, earlier and later quotations.

    ``since`` is for what holds, ``on`` for what happens or is planned.
    """

    headings: dict[str, str]
    since: str
    on: str
    before: str
    earlier: str
    later: str


def _words(headings: tuple[str, ...], *rest: str) -> Words:
    return Words(dict(zip(_CATEGORIES, headings, strict=True)), *rest)


WORDS: dict[str, Words] = {
    "en": _words(
        ("Personal information", "Work history", "Preferences", "Relationships", "Goals", "Notes"),
        " (since {date}{before})",
        " ({date}{before})",
        "; before: {text}",
        "before, {text}",
        " [later, {text}]",
    ),
    "zh": _words(
        ("个人信息", "工作经历", "偏好", "人际关系", "目标", "备注"),
        "\uff08自 {date}{before}\uff09",
        "\uff08{date}{before}\uff09",
        "\uff1b此前\uff1a{text}",
        "此前\uff0c{text}",
        "[后来\uff0c{text}]",
    ),
    "de": _words(
        ("Persönliches", "Berufliches", "Vorlieben", "Beziehungen", "Ziele", "Notizen"),
        " (seit {date}{before})",
        " ({date}{before})",
        "; vorher: {text}",
        "vorher, {text}",
        " [später, {text}]",
    ),
    "fr": _words(
        (
            *("Informations personnelles", "Parcours professionnel", "Préférences"),
            *("Relations", "Objectifs", "Notes"),
        ),
        " (depuis le {date}{before})",
        " ({date}{before})",
        " ; avant : {text}",
        "avant, {text}",
        " [plus tard, {text}]",
    ),
    "es": _words(
        (
            *("Información personal", "Trayectoria laboral", "Preferencias"),
            *("Relaciones", "Metas", "Notas"),
        ),
        " (desde {date}{before})",
        " ({date}{before})",
        "; antes: {text}",
        "antes, {text}",
        " [más tarde, {text}]",
    ),
}


def language_of(texts: Iterable[str]) -> Language:
    """The language of most texts that has headings, else English.

    Chinese if at least half of the texts are.
    """
    told = list(texts)
    counts = Counter(map(_native.language, told))
    if told and counts["zh"] / len(told) >= _CHINESE_SHARE:
        return "zh"
    known = [language for language in LANGUAGES if language != "zh"]
    return max(known, key=lambda language: counts[language])
