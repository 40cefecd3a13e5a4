"""Stand-ins for packages that Nemori's `metrics/utils.py` imports but does not use for its scores.

Python imports this module first, in the scripts' processes only. If `nltk` has no data, words are
split without it.
"""

import contextlib
import importlib.util
import sys
from unittest.mock import MagicMock

for name in ("bert_score", "rouge_score", "sentence_transformers"):
    if importlib.util.find_spec(name) is None:
        for module in (name, f"{name}.util"):
            sys.modules[module] = MagicMock()

if any(argument.endswith("evals.py") for argument in sys.orig_argv):
    with contextlib.suppress(ImportError):
        import nltk

        nltk.download = lambda *_, **__: True
        try:
            nltk.word_tokenize("a word")
        except LookupError:
            nltk.word_tokenize = nltk.tokenize.wordpunct_tokenize
