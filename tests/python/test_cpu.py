"""The check of the processor, on texts of the kernel's form."""

from episodica.preflight import missing_features

NEW = (
    "processor\t: 0\nflags\t\t: fpu sse2 abm fma avx avx2 f16c bmi1 bmi2 movbe\n\n"
    "processor\t: 1\nflags\t\t: fpu\n"
)


def test_a_new_processor_lacks_nothing() -> None:
    assert missing_features(NEW) == []


def test_an_old_processor_is_told_what_it_lacks() -> None:
    assert missing_features(NEW.replace(" fma", "").replace(" avx2", "")) == ["AVX2", "FMA"]


def test_a_text_without_flags_refuses_nobody() -> None:
    assert missing_features("") == []
    assert missing_features("Features\t: fp asimd\n") == []
