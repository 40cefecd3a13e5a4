"""Refuse in one line to be imported by a subinterpreter.

The engine keeps exception classes and threads that belong to the main interpreter; shared with another one they would fail far from the
cause. Importing the module is the check; the package does it before it imports ``_native``.
"""

from __future__ import annotations

from importlib import import_module


def is_main() -> bool:
    """Whether this is the interpreter that the process started with; also where that can't be told."""
    for name in ("_interpreters", "_xxsubinterpreters"):
        try:
            module = import_module(name)
        except ImportError:
            continue
        return bool(module.get_current() == module.get_main())
    return True


if not is_main():
    raise ImportError(
        "episodica can't run in a subinterpreter; use the main one, a process or a thread (mod_wsgi: `WSGIApplicationGroup %{GLOBAL}`)"
    )
