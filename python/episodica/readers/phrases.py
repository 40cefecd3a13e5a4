"""What WhatsApp writes in the place of a message, or after it, in the languages of its exports."""

from __future__ import annotations

import re

from .conversation import CALL, CONTACT, DELETED, NO_CAPTION, PLACE, POLL
from .dates import plain

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
_UNIT = (
    r"(?:[smh]|(?:sec|sek|seg|min|hr|std|hour|stund|heure|hora|or[ae]|uur)[^\W\d_]{0,5}"
    r"|秒|分钟?)"
)
# A call that took place, or was not taken: with its length or its outcome.
_CALLED = re.compile(
    r"(?:(?:silenced|stummgeschalteter|group) )?"
    r"(?:(?:voice|video) call|(?:sprach|video)anruf|(?:video)?llamada(?: de (?:voz|grupo))?"
    r"|appel (?:vocal|vidéo)|(?:chamada de (?:voz|vídeo))|(?:video)?chiamata(?: vocale)?"
    r"|(?:spraak|video-)oproep|(?:语音|视频)通话)[,.:\uff0c\uff1a] ?"
    rf"(?:\d{{1,3}} ?{_UNIT}\.?(?: \d{{1,3}} ?{_UNIT}\.?)?"
    r"|(?:\d{1,2}:)?\d{1,2}:\d{2}"
    r"|no answer|tap to call back|declined|busy|cancel+ed|keine antwort|zum rückruf tippen"
    r"|nicht angenommen|abgelehnt|besetzt|abgebrochen|sin respuesta|rechazada|cancelada"
    r"|pas de réponse|sans réponse|refusé|annulé|sem resposta|nessuna risposta"
    r"|geen antwoord|未接听|无人接听)(?: ?[•·].{0,40})?",
    re.IGNORECASE,
)
# Where someone is, as long as it is shared.
_LIVE_PLACES = frozenset(
    (
        *("live location shared", "live-standort wird geteilt", "live-standort geteilt"),
        *("ubicación en tiempo real compartida", "se compartió la ubicación en tiempo real"),
        *("localisation en direct partagée", "position en direct partagée"),
        *("localização em tempo real compartilhada", "posizione in tempo reale condivisa"),
        *("live locatie gedeeld", "已共享实时位置"),
    )
)
# Photos and videos that may be seen once: these are in no export.
_SEEN_ONCE = re.compile(
    r"view once (?:voice )?(?:message|photo|video|media) omitted"
    r"|einmalansicht(?:[- ](?:medien|nachricht|foto|video|sprachnachricht))?"
    r" (?:ausgeschlossen|weggelassen)"
    r"|(?:medien|foto|video) zur einmalansicht (?:ausgeschlossen|weggelassen)"
    r"|(?:mensaje|foto|video) de visualización única omitid[oa]"
    r"|(?:message|photo|vidéo) à vue unique (?:omis|omise|exclu|exclue)"
    r"|(?:mensagem|foto|vídeo) de visualização única (?:omitid|ocult)[oa]",
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
    # An iPhone puts marks of direction anywhere: before an option, before a number of votes.
    first, *rest = [plain(one) for one in lines]
    options = [found[1] for one in rest[1:] if (found := _OPTION.fullmatch(one))]
    if _HEAD.fullmatch(first) and len(options) >= _LEAST_OPTIONS and len(set(options)) == 1:
        return POLL
    if any(rest):
        return None
    if _plain(first) in _DELETED:
        return DELETED
    if _MISSED.fullmatch(first) or _CALLED.fullmatch(first):
        return CALL
    if _MAP.fullmatch(first) or _plain(first) in _LIVE_PLACES:
        return PLACE
    if _SEEN_ONCE.fullmatch(first):
        return NO_CAPTION
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
