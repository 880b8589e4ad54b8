"""Print docs/reference/python.md, of the docstrings of the package.

PYTHONPATH=python python python/tests/reference.py > docs/reference/python.md
"""
from __future__ import annotations

import inspect
import typing

import certspec


def signature(thing: object) -> str:
    """The arguments of a function, without the lengthy types of others."""
    words = []
    for one in inspect.signature(thing).parameters.values():
        if one.name == "self":
            continue
        if one.kind is one.VAR_POSITIONAL:
            words.append("*" + one.name)
            continue
        if one.kind is one.KEYWORD_ONLY and not any(word.startswith("*") for word in words):
            words.append("*")
        words.append(one.name if one.default is one.empty else f"{one.name}={one.default!r}")
    return ", ".join(words)


def text(thing: object) -> str:
    """A docstring as Markdown, without its doctests."""
    lines = (inspect.getdoc(thing) or "").split("\n\n>>>")[0]
    return lines.strip() + "\n"


def members(name: str, kind: type) -> typing.Iterator[str]:
    """Fields, properties and methods of a class."""
    if issubclass(kind, tuple):
        yield "Fields: " + ", ".join(f"`{field}`" for field in kind._fields) + "\n"
    for member, value in vars(kind).items():
        if member.startswith("_") or not (inspect.isfunction(value) or isinstance(value, property)):
            continue
        call = f"({signature(value)})" if inspect.isfunction(value) else ""
        yield f"- `{name}.{member}{call}`: {text(value)}".rstrip().replace("\n\n", " ").replace("\n", " ") + "\n"


def reference() -> str:
    parts = ["# Reference of the Python package\n",
             "Made of the docstrings by `python/tests/reference.py`; `help(certspec)` shows the same.\n",
             "```text\n" + inspect.getdoc(certspec) + "\n```\n"]
    names = sorted(certspec.__all__, key=lambda name: (not name.islower(), name.lower()))
    for name in names:
        thing = getattr(certspec, name)
        if inspect.isfunction(thing):
            parts += [f"## {name}\n", f"`certspec.{name}({signature(thing)})`\n", text(thing)]
        elif isinstance(thing, type):
            parts += [f"## {name}\n", text(thing), *members(name, thing)]
    return "\n".join(parts)


if __name__ == "__main__":
    print(reference(), end="")
