"""Makes README.md and pyproject.toml ready for the package index, in a temporary checkout.

    python tools/release_metadata.py OWNER/NAME TAG [--check]

The index shows README.md outside of the repository, so links and pictures become absolute addresses
of the files of this tag. `pyproject.toml` gets the project's addresses, which only the repository
of the release knows. With ``--check`` nothing is written; the exit status is 1 if a link leads to
no file. The release workflow runs the script before it builds.
"""

from __future__ import annotations

import argparse
import re
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
LINK = re.compile(r"(?P<start>\]\(|(?:src|srcset|href)=\")(?P<target>[^)\s\"#:]+)(?P<end>[)#\"])")


def absolute(text: str, repository: str, tag: str) -> tuple[str, list[str]]:
    """The text with absolute links, and the targets that are not files.

    >>> absolute("[a](LICENSE) ![b](docs/images/none.png) [c](https://x.org)", "me/it", "v1")
    ... # doctest: +NORMALIZE_WHITESPACE
    ('[a](https://github.com/me/it/blob/v1/LICENSE)
      ![b](https://raw.githubusercontent.com/me/it/v1/docs/images/none.png) [c](https://x.org)',
     ['docs/images/none.png'])
    """
    missing = []

    def one(link: re.Match[str]) -> str:
        target = link["target"]
        if not (ROOT / target).exists():
            missing.append(target)
        if target.endswith((".png", ".svg", ".gif", ".jpg")):
            address = f"https://raw.githubusercontent.com/{repository}/{tag}/{target}"
        else:
            address = f"https://github.com/{repository}/blob/{tag}/{target}"
        return f"{link['start']}{address}{link['end']}"

    return LINK.sub(one, text), missing


def addresses(text: str, repository: str) -> str:
    """``pyproject.toml`` with the table of addresses, after the project's own keys."""
    home = f"https://github.com/{repository}"
    table = f"""[project.urls]
Source = "{home}"
Changelog = "{home}/blob/main/CHANGELOG.md"
Documentation = "https://{repository.partition("/")[0]}.github.io/{repository.partition("/")[2]}/"
Issues = "{home}/issues"

"""
    return text.replace(
        "[project.optional-dependencies]", f"{table}[project.optional-dependencies]", 1
    )


def main() -> int:
    """The command."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("repository", help="OWNER/NAME")
    parser.add_argument("tag")
    parser.add_argument("--check", action="store_true", help="write nothing")
    arguments = parser.parse_args()
    readme, project = ROOT / "README.md", ROOT / "pyproject.toml"
    text, missing = absolute(
        readme.read_text(encoding="utf-8"), arguments.repository, arguments.tag
    )
    for target in missing:
        print(f"README.md links to no file: {target}", file=sys.stderr)
    if not arguments.check:
        readme.write_text(text, encoding="utf-8")
        found = addresses(project.read_text(encoding="utf-8"), arguments.repository)
        project.write_text(found, encoding="utf-8")
    return int(bool(missing))


if __name__ == "__main__":
    sys.exit(main())
