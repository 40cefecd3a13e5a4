"""The check of the processor, on texts of the kernel's form."""

from episodica.preflight import missing_features

NEW = (
    "processor\t: 0\nflags\t\t: fpu sse2 ssse3 cx16 sse4_1 sse4_2 popcnt lahf_lm\n\n"
    "processor\t: 1\nflags\t\t: fpu\n"
)


def test_a_new_processor_lacks_nothing() -> None:
    assert missing_features(NEW) == []


def test_an_old_processor_is_told_what_it_lacks() -> None:
    old = NEW.replace(" popcnt", "").replace(" sse4_2", "")
    assert missing_features(old) == ["SSE4_2", "POPCNT"]


def test_a_text_without_flags_refuses_nobody() -> None:
    assert missing_features("") == []
    assert missing_features("Features\t: fp asimd\n") == []
