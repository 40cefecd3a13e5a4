"""E-mails: what a letter quotes is another's, and the mailbox tells whose memory it is."""

from __future__ import annotations

import base64
import quopri
from pathlib import Path

import pytest

from episodica import InvalidInputError, MemorySystem
from episodica.cli.app import main
from episodica.readers import read_conversations

OWN = "I moved to Lund with my sister."
QUOTED = "I live in Rome and I am allergic to nuts."


def letter(body: str, kind: str = "plain", subject: str = "Re: Move", more: str = "") -> str:
    return (
        "From: Ana Berg <ana@mail.example>\nTo: Tom Hill <tom@mail.example>\n"
        f"Subject: {subject}\nDate: Sat, 1 Mar 2025 11:00:00 +0100\n{more}"
        f"Content-Type: text/{kind}; charset=utf-8\n\n{body}\n"
    )


def read(path: Path, text: str) -> tuple[str, list[str]]:
    """The words of a letter, and the notes about it."""
    path.write_text(text, encoding="utf-8")
    [talk] = read_conversations(path)
    return talk.messages[0]["content"], list(talk.notes)


HEADS = [
    "-----Original Message-----\nFrom: Tom Hill\nSent: Friday, 28 February 2025 10:00",
    "-----Ursprüngliche Nachricht-----\nVon: Tom Hill\nGesendet: Freitag\nAn: Ana Berg",
    "Von: Tom Hill <tom@mail.example>\nGesendet: Freitag, 28. Februar\nAn: Ana\nBetreff: Move",
    "________________________________\n发件人： Tom Hill\n发送时间： 2025年2月28日\n主题： Move",
    "*De :* Tom Hill\n*Envoyé :* vendredi\n*À :* Ana Berg\n*Objet :* Re: Move",
    "De: tom@mail.example\nEnviado: viernes\nPara: ana@mail.example",
    "差出人: Tom Hill\n送信日時: 2025年2月28日\n宛先: Ana Berg\n件名: RE: Move",
    "Van: Tom Hill\nVerzonden: vrijdag\nAan: Ana Berg\nOnderwerp: Move",
]


@pytest.mark.parametrize("head", HEADS)
def test_a_letter_that_outlook_quotes_is_left_out(tmp_path: Path, head: str) -> None:
    words, notes = read(tmp_path / "a.eml", letter(f"{OWN}\n\n{head}\n\nHi Ana,\n{QUOTED}"))
    assert words == OWN
    assert "quoted lines were left out" in notes[0]


@pytest.mark.parametrize(
    "body",
    [
        f"{OWN}<br><blockquote type='cite'>{QUOTED}</blockquote>",
        f"<div>{OWN}</div><br><div>On Fri, Tom Hill &lt;tom@mail.example&gt; wrote:<br></div>"
        f"<blockquote class='gmail_quote'><div>{QUOTED}</div></blockquote>",
        f"<p>{OWN}</p><hr><div><b>From:</b> Tom Hill<br><b>Sent:</b> Friday<br>"
        f"<b>To:</b> Ana Berg<br><b>Subject:</b> Move<br></div><p>{QUOTED}</p>",
    ],
)
def test_quotations_in_html_are_left_out(tmp_path: Path, body: str) -> None:
    words, notes = read(tmp_path / "a.eml", letter(f"<html>{body}</html>", "html"))
    assert words == OWN
    assert "quoted lines were left out" in notes[0]


@pytest.mark.parametrize(
    ("body", "subject"),
    [
        (f"{OWN}\n\nName: Ana Berg\nAge: 30\nCity: Lund", "Re: Move"),
        (f"{OWN}\n\n----- Plan -----\nMonday: boxes\nTuesday: paint", "Re: Move"),
        (f"{OWN}\nFrom: Lund\nTo: Malmo", "Re: Move"),
        # What is forwarded stands nowhere else.
        (f"{OWN}\n\n-----Original Message-----\nFrom: Tom Hill\nSent: Friday\n\nBye", "FW: Move"),
    ],
)
def test_fields_of_ones_own_stay(tmp_path: Path, body: str, subject: str) -> None:
    words, notes = read(tmp_path / "a.eml", letter(body, subject=subject))
    assert words == body
    assert not notes


LONG = f"{OWN} " + "The train leaves at nine and I take my bicycle with me, as always. " * 6
# Heads of the letter to the person of `letter`: by address, by name, on several lines.
WRITTEN = [
    "On Fri, Feb 28, 2025 at 9:00 AM Tom Hill <tom@mail.example> wrote:",
    "On Fri, Feb 28, 2025 at 9:00 AM Tom Hill <tom@mail.example>\nwrote:",
    "On Friday, February 28, 2025 at 09:00:00 AM GMT+1, Tom Hill\n<tom@mail.example> wrote:",
    "Am Fr., 28. Feb. 2025 um 09:00 Uhr schrieb Tom Hill <tom@mail.example>:",
    "Am 28.02.25 um 09:00 schrieb Tom Hill:",
    "Am 28.02.2025 um 09:00 schrieb Tom:",
    "Le ven. 28 févr. 2025 à 09:00, Tom Hill <tom@mail.example> a écrit :",
    "El vie, 28 feb 2025 a las 9:00, Tom Hill (<tom@mail.example>) escribió:",
    "Op vr 28 feb 2025 om 09:00 schreef Tom Hill <tom@mail.example>:",
    "Tom Hill <tom@mail.example>, 28 Şub 2025 Cum, 09:00 tarihinde şunu yazdı:",
    "Tom Hill <tom@mail.example> ezt írta (időpont: 2025. febr. 28., P, 9:00):",
    "пт, 28 февр. 2025 г. в 09:00, Tom Hill <tom@mail.example>:",
    "2025年2月28日(金) 9:00 Tom Hill <tom@mail.example>:",
    "Tom Hill <tom@mail.example> 于2025年2月28日周五 09:00写道：",
    "Tom Hill wrote on 28.02.2025 09:00:",
    "---- On Fri, 28 Feb 2025 09:00:00 +0100 Tom Hill <tom@mail.example> wrote ----",
    "------- Original Message -------\nOn Friday, February 28th, 2025 at 9:00 AM, "
    "Tom Hill <tom@mail.example> wrote:",
]


@pytest.mark.parametrize("own", [OWN, LONG])
@pytest.mark.parametrize("head", WRITTEN)
def test_what_stands_unmarked_below_the_head_of_a_letter_is_left_out(
    tmp_path: Path, head: str, own: str
) -> None:
    words, notes = read(tmp_path / "a.eml", letter(f"{own}\n\n{head}\n\nHi Ana,\n{QUOTED}"))
    assert words == own.strip()
    assert "quoted lines were left out" in notes[0]


@pytest.mark.parametrize("head", WRITTEN)
def test_the_head_above_a_marked_quotation_goes_whole(tmp_path: Path, head: str) -> None:
    below = "And I bought a boat."
    body = f"{OWN}\n\n{head}\n> {QUOTED}\n\n{below}"
    words, _ = read(tmp_path / "a.eml", letter(body))
    assert words.removeprefix(OWN).strip() == below


@pytest.mark.parametrize(("subject", "above"), [("Re: Move", ""), ("FW: Move", f"{OWN}\n\n")])
def test_a_quoted_letter_that_is_all_there_is_stays_as_anothers(
    tmp_path: Path, subject: str, above: str
) -> None:
    file = tmp_path / "a.eml"
    file.write_text(letter(f"{above}{WRITTEN[0]}\n\n{QUOTED}", subject=subject), encoding="utf-8")
    with MemorySystem(tmp_path / "m") as memory:
        memory.import_(file, "ana")
        memory.flush("ana")
        [said] = [one.content for one in memory.messages("ana")]
        told = [one.content for one in memory.semantic_memories("ana")]
    assert said == f"{above}> {WRITTEN[0]}\n>\n> {QUOTED}\n>"
    assert not any("Rome" in one or "wrote" in one for one in told)


@pytest.mark.parametrize(
    "line",
    [
        "On 28 February 2025 I bought these:",
        "On Friday at 9:00 Tom and I will need all of this for the move:",
        "Please write to <office@mail.example>:",
        "Tickets for Friday, 28.02.2025, 9:00:",
        "We meet on 28.02.2025 at 9:00 with the following plan:",
    ],
)
def test_a_line_of_ones_own_that_ends_with_a_colon_begins_no_quotation(
    tmp_path: Path, line: str
) -> None:
    body = f"{OWN}\n\n{line}\n\nboxes, paint, tape"
    words, notes = read(tmp_path / "a.eml", letter(body))
    assert words == body
    assert not notes


def test_the_line_above_a_quotation_may_be_broken(tmp_path: Path) -> None:
    head = "On Fri, 28 Feb 2025 at 10:00, Tom Hill\n<tom@mail.example> wrote:"
    words, _ = read(tmp_path / "a.eml", letter(f"{OWN}\n\n{head}\n\n> {QUOTED}"))
    assert words == OWN


def test_a_forwarded_letter_is_not_its_senders_words(tmp_path: Path) -> None:
    body = f"{OWN}\n\n-----Original Message-----\nVon: Tom Hill\nGesendet: Freitag\n\n{QUOTED}"
    file = tmp_path / "a.eml"
    file.write_text(letter(body, subject="WG: Move"), encoding="utf-8")
    with MemorySystem(tmp_path / "m") as memory:
        memory.import_(file, "ana")
        memory.flush("ana")
        told = [one.content for one in memory.semantic_memories("ana") if one.said_by == "user"]
    assert any("Lund" in one for one in told)
    assert not any("Rome" in one for one in told)


def mbox(path: Path, *letters: tuple[str, str, str]) -> Path:
    """Letters of a sender to a receiver, with a text."""
    texts = [
        f"From x@mail.example Sat Mar  1 10:0{at}:00 2025\nFrom: {sender}\nTo: {receiver}\n"
        f"Subject: S{at}\nDate: Sat, 1 Mar 2025 10:0{at}:00 +0000\n\n{text}\n\n"
        for at, (sender, receiver, text) in enumerate(letters)
    ]
    path.write_text("".join(texts), encoding="utf-8")
    return path


ANA, TOM, IDA = "Ana Berg <ana@mail.example>", "Tom Hill <tom@mail.example>", "ida@mail.example"


@pytest.mark.parametrize("command", ["ingest", "import"])
@pytest.mark.parametrize(
    ("user", "said"),
    [
        ("u1", "u1 is Ana Berg, the owner of the exported account"),
        ("tom@mail.example", "tom@mail.example is Tom Hill, the only one with this name"),
        ("hill", "hill is Tom Hill, the only one with this name"),
    ],
)
def test_a_mailbox_tells_whose_profile_it_is(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], command: str, user: str, said: str
) -> None:
    file = mbox(
        tmp_path / "a.mbox", (ANA, TOM, OWN), (TOM, ANA, QUOTED), (IDA, ANA, "I keep bees.")
    )
    store = tmp_path / "m"
    assert main(["--store", str(store), command, str(file), "--user", user]) == 0
    assert said in capsys.readouterr().err
    with MemorySystem(store) as memory:
        profile = memory.profile(user)
    assert profile is not None
    assert ("Lund" if "Ana" in said else "Rome") in profile.to_markdown()


def test_a_mailbox_without_letters_of_its_owner(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = mbox(tmp_path / "a.mbox", (TOM, ANA, QUOTED), (IDA, ANA, "I keep bees."))
    assert main(["--store", str(tmp_path / "m"), "import", str(file), "--user", "u1"]) == 0
    told = capsys.readouterr().err
    assert "u1 is Ana Berg" in told
    assert "of Tom Hill and ida@mail.example" in told
    assert "`--me NAME` chooses another" in told


def test_two_people_who_write_to_each_other_are_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = mbox(tmp_path / "a.mbox", (ANA, TOM, OWN), (TOM, ANA, QUOTED))
    assert main(["--store", str(tmp_path / "m"), "import", str(file), "--user", "u1"]) == 0
    told = capsys.readouterr().err
    assert "Ana Berg and Tom Hill speak here" in told
    assert "with `--me NAME` chooses another" in told
    again = ["--store", str(tmp_path / "m"), "import", str(file), "--user", "u1"]
    assert main([*again, "--me", "tom@mail.example"]) == 0
    assert "u1 is Tom Hill" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("declared", "encoding", "words", "note"),
    [
        (None, "utf-8", "Zoë zog nach Malmö.", ""),
        (None, "latin-1", "Zoë zog nach Malmö.", "read as windows-1252"),
        ("us-ascii", "utf-8", "Zoë zog nach Malmö.", "not `us-ascii`; read as UTF-8"),
        ("us-ascii", "latin-1", "Zoë zog.", "not `us-ascii`; read as windows-1252"),
        ("utf-8", "cp1252", "Zoë’s boat — 5 €", "not `utf-8`; read as windows-1252"),
        ("no-such-charset", "utf-8", "Zoë zog.", "not `no-such-charset`; read as UTF-8"),
        ("iso-8859-15", "iso-8859-15", "Zoë has 5 €.", ""),
        ("iso-8859-1", "cp1252", "Zoë has 5 €.", ""),
        ("gb2312", "gb18030", "我和朱镕基住在大连。", ""),
        ("gb18030", "gb18030", "我住在大连。", ""),
    ],
)
def test_a_letter_in_another_encoding_than_it_declares(
    tmp_path: Path, declared: str | None, encoding: str, words: str, note: str
) -> None:
    kind = "" if declared is None else f"Content-Type: text/plain; charset={declared}\n"
    head = f"From: {ANA}\nDate: Sat, 1 Mar 2025 11:00:00 +0100\n{kind}"
    encoded = quopri.encodestring(words.encode(encoding))
    bodies = [b"Content-Transfer-Encoding: quoted-printable\n\n" + encoded]
    if encoding == "utf-8":
        bodies.append(b"Content-Transfer-Encoding: 8bit\n\n" + words.encode())
    for body in bodies:
        (tmp_path / "a.eml").write_bytes(head.encode() + body)
        [talk] = read_conversations(tmp_path / "a.eml")
        assert talk.messages[0]["content"] == words
        assert [note in one for one in talk.notes] == [True] * bool(note)


@pytest.mark.parametrize("encoding", ["utf-8", "gb18030"])
def test_a_broken_letter_of_a_mail_changes_no_other(tmp_path: Path, encoding: str) -> None:
    body = "我住在大连。".encode(encoding) + b" Oslo \xff Bonn"
    head = f"From: {ANA}\nDate: Sat, 1 Mar 2025 11:00:00 +0100\n"
    kind = f"Content-Type: text/plain; charset={encoding}\nContent-Transfer-Encoding: base64\n\n"
    (tmp_path / "a.eml").write_bytes((head + kind).encode() + base64.encodebytes(body))
    [talk] = read_conversations(tmp_path / "a.eml")
    assert talk.messages[0]["content"].startswith("我住在大连。 Oslo ")
    assert len(talk.notes) == 1


@pytest.mark.parametrize("code", ["iso-8859-1", "windows-1252", "gb2312", "iso-2022-jp", "koi8-r"])
@pytest.mark.parametrize("box", [False, True])
def test_a_letter_names_its_own_encoding(tmp_path: Path, code: str, box: bool) -> None:
    words = {"gb2312": "我搬到了隆德。", "iso-2022-jp": "引っ越した。", "koi8-r": "Я в Лунде."}
    own = words.get(code, "Ich wohne jetzt in Köln.")
    text = letter(own).replace("charset=utf-8", f"charset={code}\nContent-Transfer-Encoding: 8bit")
    start = "From ana@mail.example Sat Mar  1 11:00:00 2025\n" if box else ""
    path = tmp_path / "letters.mbox"
    path.write_bytes((start + text).encode(code))
    [talk] = read_conversations(path)
    assert talk.messages[0]["content"].strip() == own


def test_other_text_that_is_not_utf8_is_refused_with_its_line(tmp_path: Path) -> None:
    path = tmp_path / "talk.txt"
    path.write_bytes("Ana: hello\nAna: Ich wohne in Köln.\n".encode("latin-1"))
    with pytest.raises(InvalidInputError, match="line 2 is not UTF-8"):
        list(read_conversations(path))


def mixed(*parts: str) -> str:
    """A letter of several parts, each with its own head."""
    body = "".join(f"--B\n{part}\n" for part in parts) + "--B--\n"
    return letter("", subject="Will").replace(
        "Content-Type: text/plain; charset=utf-8\n\n",
        f'MIME-Version: 1.0\nContent-Type: multipart/mixed; boundary="B"\n\n{body}',
    )


def attached(name: str, kind: str = "text/plain") -> str:
    return f'Content-Type: {kind}\nContent-Disposition: attachment; filename="{name}"\n\nI, Otto.'


def test_an_attachment_is_left_out_by_its_name(tmp_path: Path) -> None:
    said = f"Content-Type: text/plain\n\n{OWN}"
    words, notes = read(tmp_path / "a.eml", mixed(said, attached("will.txt")))
    assert words == OWN
    assert notes == ["line 1: attachments left out: `will.txt`"]
    many = [attached(f"{at}.pdf", "application/pdf") for at in range(7)]
    _, notes = read(tmp_path / "a.eml", mixed(said, *many))
    named = ", ".join(f"`{at}.pdf`" for at in range(5))
    assert notes == [f"line 1: attachments left out: {named} and 2 more"]
    mbox(tmp_path / "a.mbox", (ANA, TOM, OWN))
    with (tmp_path / "a.mbox").open("a", encoding="utf-8") as box:
        box.write(f"From x@mail.example Sat Mar  1 10:09:00 2025\n{mixed(attached('b.txt'))}")
    [talk] = read_conversations(tmp_path / "a.mbox")
    assert [one.why for one in talk.left_out] == ["no words; attachments left out: `b.txt`"]


@pytest.mark.parametrize(
    ("data", "is_whole"),
    [
        (base64.b64encode(OWN.encode()).decode(), True),
        (base64.b64encode(f"{OWN} Bye!!".encode()).decode().rstrip("="), False),
        ("!!!not base64!!!", False),
        (base64.b64encode(OWN.encode()).decode() + "\n-- \nThe list of boats", False),
    ],
)
def test_base64_that_is_not_whole_is_told(tmp_path: Path, data: str, is_whole: bool) -> None:
    text = letter(data, more="Content-Transfer-Encoding: base64\n")
    words, notes = read(tmp_path / "a.eml", text)
    assert words
    told = ["line 1: the text is not whole base64; read as far as it goes"]
    assert notes == ([] if is_whole else told)
