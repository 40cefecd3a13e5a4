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
# The headings are Chinese if at least this share of the facts has Chinese characters.
_CHINESE_SHARE = 0.5


@dataclass(frozen=True, slots=True)
class Words:
    """The headings, and the words around a date, a former text and an earlier quotation."""

    headings: dict[str, str]
    since: str
    before: str
    earlier: str


def _words(headings: tuple[str, ...], since: str, before: str, earlier: str) -> Words:
    return Words(dict(zip(_CATEGORIES, headings, strict=True)), since, before, earlier)


WORDS: dict[str, Words] = {
    "en": _words(
        ("Personal information", "Work history", "Preferences", "Relationships", "Goals", "Notes"),
        " (since {date}{before})",
        "; before: {text}",
        "before,",
    ),
    "zh": _words(
        ("个人信息", "工作经历", "偏好", "人际关系", "目标", "备注"),
        "\uff08自 {date}{before}\uff09",
        "\uff1b此前\uff1a{text}",
        "此前\uff0c",
    ),
    "de": _words(
        ("Persönliches", "Berufliches", "Vorlieben", "Beziehungen", "Ziele", "Notizen"),
        " (seit {date}{before})",
        "; vorher: {text}",
        "vorher,",
    ),
    "fr": _words(
        (
            *("Informations personnelles", "Parcours professionnel", "Préférences"),
            *("Relations", "Objectifs", "Notes"),
        ),
        " (depuis le {date}{before})",
        " ; avant : {text}",
        "avant,",
    ),
    "es": _words(
        (
            *("Información personal", "Trayectoria laboral", "Preferencias"),
            *("Relaciones", "Metas", "Notas"),
        ),
        " (desde {date}{before})",
        "; antes: {text}",
        "antes,",
    ),
}


def language_of(texts: Iterable[str]) -> Language:
    """The language of most texts that has headings, else English.

    Chinese if at least half of the texts have Chinese characters.
    """
    told = list(texts)
    chinese = sum(any("\u4e00" <= letter <= "\u9fff" for letter in text) for text in told)
    if told and chinese / len(told) >= _CHINESE_SHARE:
        return "zh"
    counts = Counter(map(_native.language, told))
    known = [language for language in LANGUAGES if language != "zh"]
    return max(known, key=lambda language: counts[language])
