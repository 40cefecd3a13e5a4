"""What WhatsApp writes in the place of a message, or after it, in the languages of its exports."""

from __future__ import annotations

import re

from .conversation import CALL, CONTACT, DELETED, PLACE, POLL

_DELETED = frozenset(
    (
        *("this message was deleted", "you deleted this message"),
        *("diese nachricht wurde gelöscht", "du hast diese nachricht gelöscht"),
        *("se eliminó este mensaje", "eliminaste este mensaje", "este mensaje fue eliminado"),
        *("ce message a été supprimé", "vous avez supprimé ce message"),
        *("mensagem apagada", "essa mensagem foi apagada", "você apagou esta mensagem"),
        *("questo messaggio è stato eliminato", "hai eliminato questo messaggio"),
        *("dit bericht is verwijderd", "je hebt dit bericht verwijderd"),
        *("данное сообщение удалено", "вы удалили данное сообщение", "bu mesaj silindi"),
        *("此消息已删除", "你删除了这条消息", "このメッセージは削除されました"),
        *("삭제된 메시지입니다", "تم حذف هذه الرسالة", "لقد حذفت هذه الرسالة"),
    )
)
_EDITED = frozenset(
    (
        *("this message was edited", "diese nachricht wurde bearbeitet"),
        *("se editó este mensaje", "este mensaje se editó", "ce message a été modifié"),
        *("mensagem editada", "esta mensagem foi editada"),
        *("questo messaggio è stato modificato", "dit bericht is bewerkt"),
        *("данное сообщение изменено", "bu mesaj düzenlendi", "此消息已编辑", "此訊息已編輯"),
        *("このメッセージは編集されました", "편집된 메시지입니다", "تم تعديل هذه الرسالة"),
    )
)
_MISSED = re.compile(
    r"(?:missed (?:group )?(?:voice|video) call|verpasster (?:sprach|video)anruf"
    r"|(?:video)?llamada (?:de voz )?perdida|appel (?:vocal|vidéo) manqué"
    r"|chamada de (?:voz|vídeo) perdida|(?:video)?chiamata (?:vocale )?persa"
    r"|gemiste (?:spraak|video-)oproep|пропущенный (?:аудио|видео)звонок"
    r"|cevaps\u0131z (?:sesli|görüntülü) arama|未接(?:语音|视频)通话|不在着信"
    r"|부재중 (?:음성|영상)통화)"
    r"(?:[ .,(:].{0,60})?",
    re.IGNORECASE,
)
_LONGEST_MARK = 60
# What other messengers write after an edited text.
_SUFFIXES = (
    *("(edited)", "(bearbeitet)", "(modifié)", "(editado)", "(editada)", "(modificato)"),
    *("(изменено)", "(düzenlendi)", "(已编辑)", "(已編輯)", "(編集済み)", "(편집됨)"),
)
# `POLL:`, the question, and a line for each option with its votes, whatever the language.
_HEAD = re.compile(r"\w{2,16}\s?[:\uff1a]")
_OPTION = re.compile(
    r"(\w{2,16})\s?[:\uff1a] ?.+[(\uff08]\d{1,5}\s?[^()\uff08\uff09]{1,20}[)\uff09]"
)
_LEAST_OPTIONS = 2
_MAP = re.compile(
    r"[\w ]{3,24}[:\uff1a] ?https?://(?:maps\.google\.|www\.google\.\w+/maps|maps\.app)\S*"
)
_CARD = re.compile(r"[^()\n]{1,120}\.vcf \([^()\n]{3,40}\)", re.IGNORECASE)


def _plain(text: str) -> str:
    return text.strip("\u200e\u200f .。").lower()


def stand_in(lines: list[str]) -> str | None:
    """What lines stand for instead of a person's words; ``None`` for words."""
    first = lines[0].strip("\u200e\u200f \r")
    options = [found[1] for one in lines[2:] if (found := _OPTION.fullmatch(one.strip()))]
    if _HEAD.fullmatch(first) and len(options) >= _LEAST_OPTIONS and len(set(options)) == 1:
        return POLL
    if any(line.strip() for line in lines[1:]):
        return None
    if _plain(first) in _DELETED:
        return DELETED
    if _MISSED.fullmatch(first):
        return CALL
    if _MAP.fullmatch(first):
        return PLACE
    return CONTACT if _CARD.fullmatch(first) else None


def without_edit_mark(text: str) -> tuple[str, bool]:
    """The text without the mark of an edit at its end, and whether it had one."""
    said = text.rstrip()
    for suffix in _SUFFIXES:
        if said.endswith(suffix) and said[: -len(suffix)].strip():
            return said[: -len(suffix)].rstrip(), True
    begin = said.rfind("<", -_LONGEST_MARK - 2)
    words = said[:begin].rstrip(" \t\u00a0")
    if begin < 0 or not said.endswith(">") or not words.strip("\u200e\u200f "):
        return text, False
    is_marked = words.endswith(("\u200e", "\u200f"))
    if not is_marked and _plain(said[begin + 1 : -1]) not in _EDITED:
        return text, False
    return words.rstrip("\u200e\u200f \t\u00a0"), True
