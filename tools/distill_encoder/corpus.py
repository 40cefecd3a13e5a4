"""Collect the texts on which the multilingual encoder is trained.

    python tools/distill_encoder/corpus.py SOURCES OUT [--held-out FILE]

SOURCES is a folder of the public sets, each in the subfolder that README.md names. Writes
``OUT/corpus.tsv`` with three columns: language, line number of the English original or -1, text.
Neighbours in a conversation are neighbours in the file, since the training joins lines to longer
texts.
"""

from __future__ import annotations

import argparse
import csv
import io
import json
import random
import re
import unicodedata
import zipfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from wordfreq import get_frequency_list

SEED = 1
CHARACTERS = 500  # maximum length of a text
HELD_OUT_MESSAGES = 3  # a chat with so many held-out messages is left out

XPERSONA = {"Fr": "fr", "Id": "id", "It": "it", "Jp": "ja", "Ko": "ko", "Zh": "zh"}
STSB_LANGUAGES = ("de", "es", "fr", "it", "ja", "pt", "ru", "zh", "nl", "pl")
TATOEBA = {
    "ara": "ar",
    "cmn": "zh",
    "deu": "de",
    "fra": "fr",
    "ita": "it",
    "jpn": "ja",
    "kor": "ko",
    "nld": "nl",
    "pol": "pl",
    "por": "pt",
    "rus": "ru",
    "spa": "es",
    "swe": "sv",
    "tha": "th",
    "tur": "tr",
    "ukr": "uk",
    "vie": "vi",
}
# Language, patterns of files, and approximate maximum number of sentences.
FORTUNES = (
    ("de", ("de/*",), 40_000),
    ("es", ("es/*",), 40_000),
    ("it", ("it/*",), 40_000),
    ("ru", ("ru/*", "*ru*"), 40_000),
    ("pt", ("br*", "*brasil*"), 20_000),
    ("pl", ("pl/*",), 10_000),
    ("zh", ("*song*", "*tang*", "chinese"), 10_000),
    ("en", ("*",), 25_000),
)
FORTUNE_SENTENCE = re.compile(r'.{15,300}?(?:[.!?。！？…]+["»“”)]*|$)')  # noqa: RUF001
# Approximate maximum number of paragraphs of package descriptions, by language.
DESCRIPTIONS = {
    "de": 25_000,
    "es": 20_000,
    "fr": 25_000,
    "it": 20_000,
    "ja": 25_000,
    "ko": 25_000,
    "pt_BR": 20_000,
    "ru": 25_000,
    "zh_CN": 20_000,
}
DESCRIPTION_CHARACTERS = 400
OWN_SCRIPT = ("ja", "ko", "ru", "zh_CN")
# Language, number of words, list of wordfreq.
WORDS = (
    *(("en", 30_000, "large"), ("de", 12_000, "large"), ("es", 10_000, "large")),
    *(("fr", 10_000, "large"), ("it", 7_000, "large"), ("pt", 7_000, "large")),
    *(("ru", 15_000, "large"), ("zh", 20_000, "large"), ("ja", 20_000, "large")),
    *(("ko", 20_000, "small"), ("nl", 5_000, "large"), ("pl", 6_000, "large")),
    *(("sv", 4_000, "large"), ("uk", 5_000, "large"), ("tr", 6_000, "small")),
    *(("ar", 6_000, "large"), ("vi", 3_000, "small"), ("id", 4_000, "small")),
    *(("cs", 4_000, "large"), ("fa", 4_000, "small"), ("hi", 4_000, "small")),
    ("el", 4_000, "small"),
)
GROUPED = ("en", "de", "es", "fr", "it", "pt", "ru", "zh", "ja", "ko")
GROUPS, ENGLISH_GROUPS = 15_000, 20_000
FLATTENED = 0.35  # a word is drawn by this power of its share, so that rare words occur


def read(path: Path) -> str:
    """The text of a file with unchanged line ends, since translations are matched by line."""
    return path.read_bytes().decode()


def clean(text: str) -> str:
    """``text`` on one line, normalised as the tokenizer of the package does."""
    text = unicodedata.normalize("NFKC", text)
    text = re.sub(r"[\x00-\x1f\x7f-\x9f\u200b-\u200f\ufeff]", " ", text)
    return re.sub(r"\s+", " ", text).strip()


class Corpus:
    """Texts in order, each once per language: else repeated greetings would outweigh the rest."""

    def __init__(self) -> None:
        self.rows: list[tuple[str, int, str]] = []
        self.places: dict[tuple[str, str], int] = {}

    def add(
        self, language: str, text: str, original: int = -1, characters: int = CHARACTERS
    ) -> int:
        """Adds a text with two letters at least; returns its line, or -1 if it has fewer."""
        text = clean(text)[:characters]
        if sum(char.isalpha() for char in text) < 2:
            return -1
        place = self.places.setdefault((language, text.lower()), len(self.rows))
        if place == len(self.rows):
            self.rows.append((language, original, text))
        elif original >= 0 > self.rows[place][1]:
            self.rows[place] = (language, original, text)
        return place

    def write(self, path: Path) -> None:
        """One text a line, so that its number is its line."""
        with path.open("w", encoding="utf-8", newline="\n") as file:
            for language, original, text in self.rows:
                file.write(f"{language}\t{original}\t{text}\n")


def add_chitchat(corpus: Corpus, folder: Path, held_out: Path | None) -> None:
    """Real chats, without the chats on which the encoder is judged."""
    held = json.loads(read(held_out)) if held_out else {"senders": [], "messages": []}
    senders = set(held["senders"])
    known = {clean(text).lower() for text in held["messages"]}
    for chat in json.loads(read(folder / "chitchat_dataset/dataset.json")).values():
        messages = [message for block in chat["messages"] for message in block]
        if senders & {message["sender"] for message in messages}:
            continue
        repeated = sum(clean(message["text"]).lower() in known for message in messages)
        if repeated < HELD_OUT_MESSAGES:
            for message in messages:
                corpus.add("en", message["text"])


def add_persona_chat(corpus: Corpus, folder: Path) -> None:
    """Statements of people about themselves, and small talk about them."""
    for part in ("valid", "test"):
        with (folder / f"data/Synthetic-Persona-Chat_{part}.csv").open(encoding="utf-8") as file:
            for row in csv.DictReader(file):
                for column in list(row)[:2]:
                    for line in row[column].split("\n"):
                        corpus.add("en", line)
                for line in row["Best Generated Conversation"].split("\n"):
                    corpus.add("en", line.partition(": ")[2])


def add_taskmaster(corpus: Corpus, folder: Path) -> None:
    """Orders and bookings: names of places, films and dishes."""
    for part in ("00", "03"):
        for talk in json.loads(read(folder / f"TM-4-2024/data/data_{part}.json")):
            for utterance in talk["utterances"]:
                corpus.add("en", utterance["text"])
    tickets = read(folder / "TM-3-2020/splits/train/train-bc.tsv")
    for text in re.findall(r"<[UA]>([^<\t\[]+)", tickets):
        corpus.add("en", text)


def add_xpersona(corpus: Corpus, folder: Path) -> None:
    """Personas and small talk, checked by people, in six languages."""
    for name, language in XPERSONA.items():
        for part in ("valid", "test"):
            file = folder / f"dataset/{name}_persona_split_{part}_human_annotated.json"
            for talk in json.loads(read(file)):
                turns = [text for turn in talk["dialogue"] for text in turn]
                for text in [*talk["persona"], *turns]:
                    corpus.add(language, text)


def add_chinese_dialogues(corpus: Corpus, kdconv: Path, crosswoz: Path) -> None:
    """Chinese conversations about films, music, travel and hotels."""
    for part in ("film/test", "film/dev", "music/test", "travel/test", "music/dev", "travel/dev"):
        for talk in json.loads(read(kdconv / f"data/{part}.json")):
            for message in talk["messages"]:
                corpus.add("zh", message["message"])
    for part in ("val", "test"):
        with zipfile.ZipFile(crosswoz / f"data/crosswoz/{part}.json.zip") as archive:
            talks = json.loads(archive.read(archive.namelist()[0]))
        for talk in talks.values():
            for message in talk["messages"]:
                corpus.add("zh", message["content"])


def add_korean(corpus: Corpus, chatbot: Path, kornlu: Path) -> None:
    """Korean questions with answers, and single sentences."""
    for row in csv.reader(io.StringIO(read(chatbot / "ChatbotData.csv"))):
        if row[0] != "Q":
            corpus.add("ko", row[0])
            corpus.add("ko", row[1])
    for name in (
        *("KorNLI/xnli.dev.ko.tsv", "KorNLI/xnli.test.ko.tsv"),
        *("KorSTS/sts-train.tsv", "KorSTS/sts-dev.tsv"),
    ):
        for line in read(kornlu / name).split("\n")[1:]:
            for cell in line.split("\t"):
                if sum("가" <= char <= "힣" for char in cell) > 4:
                    corpus.add("ko", cell)


def add_translated_sentences(corpus: Corpus, stsb: Path, laser: Path) -> None:
    """Sentences with their English originals: they teach one vector space for all languages."""
    for side in ("1", "2"):
        english = read(stsb / f"data-raw/stsb-en-{side}.txt").split("\n")
        places = [corpus.add("en", text) for text in english]
        for language in STSB_LANGUAGES:
            translated = read(stsb / f"data-raw/stsb-{language}-{side}.txt").split("\n")
            if len(translated) == len(english):  # otherwise the lines do not correspond
                for place, text in zip(places, translated, strict=True):
                    corpus.add(language, text, place)
    for code, language in TATOEBA.items():
        start = laser / f"data/tatoeba/v1/tatoeba.{code}-eng"
        with (
            start.with_name(f"{start.name}.{code}").open(encoding="utf-8") as texts,
            start.with_name(f"{start.name}.eng").open(encoding="utf-8") as originals,
        ):
            for text, original in zip(texts, originals, strict=True):
                corpus.add(language, text, corpus.add("en", original))


def fortune_sentences(paths: list[Path], most: int) -> Iterator[str]:
    """Sentences of fortune files, which are lists of quotations between lines of ``%``."""
    count = 0
    for path in paths:
        if path.suffix in (".dat", ".u8") or path.is_dir() or path.is_symlink():
            continue
        try:
            fortunes = path.read_text(encoding="utf-8").split("\n%")
        except UnicodeDecodeError:  # some files are in older encodings
            continue
        for fortune in fortunes:
            found = FORTUNE_SENTENCE.findall(clean(re.sub(r"\x1b\[[0-9;]*m", "", fortune)))
            yield from found
            count += len(found)
            if count > most:
                return


def add_fortunes(corpus: Corpus, folder: Path) -> None:
    """Prose of many writers: in six languages, most of the text that is not about computers."""
    for language, patterns, most in FORTUNES:
        paths = [path for pattern in patterns for path in sorted(folder.glob(pattern))]
        for text in fortune_sentences(paths, most):
            corpus.add(language, text)


def descriptions(path: Path) -> dict[str, list[str]]:
    """The paragraphs of each package description, by the checksum of the English one."""
    found = {}
    for entry in read(path).split("\n\n"):
        match = re.search(
            r"Description-md5: (\w+)\nDescription-\w+: (.*(?:\n .*)*)",  # title, then the text
            entry,
        )
        if match:
            found[match[1]] = match[2].split("\n .\n")
    return found


def paragraph_pairs(translated: list[str], english: list[str]) -> Iterator[tuple[str, str]]:
    """Titles and paragraphs with their originals, without lists and untranslated paragraphs."""
    title, _, start = translated[0].partition("\n")
    english_title, _, english_start = english[0].partition("\n")
    pairs = [(title, english_title), (start, english_start)]
    for text, original in [*pairs, *zip(translated[1:], english[1:], strict=True)]:
        if "\n  " not in text and text.strip() != original.strip() and len(text) >= 6:
            yield text, original


def add_descriptions(corpus: Corpus, folder: Path, chance: random.Random) -> None:
    """Package descriptions with their translations: dry prose, but most of the pairs."""
    english = descriptions(folder / "Translation-en")
    for name, most in DESCRIPTIONS.items():
        translated = descriptions(folder / f"Translation-{name}")
        keys = [key for key in translated if key in english]
        chance.shuffle(keys)
        count = 0
        for key in keys:
            if len(translated[key]) != len(english[key]):
                continue
            for text, original in paragraph_pairs(translated[key], english[key]):
                own = sum(char > "\u0370" for char in text)
                if name in OWN_SCRIPT and own < 0.3 * len(text):
                    continue
                place = corpus.add("en", original, characters=DESCRIPTION_CHARACTERS)
                if place >= 0:
                    corpus.add(name[:2], text, place, DESCRIPTION_CHARACTERS)
                    count += 1
            if count > most:
                break


def frequent_words(language: str, most: int, size: str) -> list[tuple[str, float]]:
    """The most frequent words of a language with their shares of all words."""
    found: list[tuple[str, float]] = []
    for number, words in enumerate(get_frequency_list(language, size)):
        for word in words:
            word = unicodedata.normalize("NFKC", word).lower()
            if word.isalpha() and len(word) < 24:
                found.append((word, 10 ** (-number / 100)))
        if len(found) >= most:
            break
    return found[:most]


def add_words(corpus: Corpus, chance: random.Random) -> None:
    """Single words and random groups of words, so that words that no sentence has get vectors."""
    for language, most, size in WORDS:
        words = frequent_words(language, most, size)
        if language == "de":  # half of the words with a capital, like German nouns
            words = [(w.capitalize() if chance.random() < 0.5 else w, p) for w, p in words]
        for word, _ in words:
            corpus.add(language, word)
        if language in GROUPED:
            population = [word for word, _ in words]
            weights = [share**FLATTENED for _, share in words]
            for _ in range(ENGLISH_GROUPS if language == "en" else GROUPS):
                count = chance.choice((2, 2, 3, 3, 4, 5))
                joined = language in ("zh", "ja") and chance.random() < 0.5
                group = chance.choices(population, weights, k=count)
                corpus.add(language, ("" if joined else " ").join(group))


def main() -> None:
    parser = argparse.ArgumentParser(description="Collect the texts of the training.")
    parser.add_argument("sources", type=Path, help="folder of the public sets, see README.md")
    parser.add_argument("out", type=Path, help="folder to write to")
    parser.add_argument(
        "--held-out",
        type=Path,
        help='JSON of {"senders": [...], "messages": [...]}, whose real chats are left out',
    )
    args = parser.parse_args()
    chance = random.Random(SEED)
    sources, corpus = args.sources, Corpus()
    add_chitchat(corpus, sources, args.held_out)
    add_persona_chat(corpus, sources / "Synthetic-Persona-Chat")
    add_taskmaster(corpus, sources / "Taskmaster")
    add_xpersona(corpus, sources / "Xpersona")
    add_chinese_dialogues(corpus, sources / "KdConv", sources / "CrossWOZ")
    add_korean(corpus, sources / "Chatbot_data", sources / "KorNLUDatasets")
    add_translated_sentences(corpus, sources / "stsb-multi-mt", sources / "LASER")
    add_fortunes(corpus, sources / "fortunes")
    add_descriptions(corpus, sources / "debian", chance)
    add_words(corpus, chance)
    args.out.mkdir(parents=True, exist_ok=True)
    corpus.write(args.out / "corpus.tsv")
    print(len(corpus.rows), "texts", dict(Counter(row[0] for row in corpus.rows)))


if __name__ == "__main__":
    main()
