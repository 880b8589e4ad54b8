"""What messages tell people to do: in the words of Python, and there."""
from __future__ import annotations

import ast
import inspect
import re
import unittest
from pathlib import Path

import certspec
from certspec._program import python_words

PUBLIC = {name: getattr(certspec, name) for name in certspec.__all__}
METHODS = {name: one for kind in PUBLIC.values() if inspect.isclass(kind)
           for name, one in inspect.getmembers(kind, inspect.isfunction)}
ARGUMENTS = {name for one in [*PUBLIC.values(), *METHODS.values()] if inspect.isfunction(one)
             for name in inspect.signature(one).parameters}


def messages():
    """The texts of errors and warnings in the package, by file and line; {} where a value stands."""
    for path in sorted(Path(certspec.__file__).parent.glob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            warns = isinstance(node, ast.Call) and getattr(node.func, "attr", "") == "warn"
            if isinstance(node, ast.Raise) and isinstance(node.exc, ast.Call) or warns:
                call = node if warns else node.exc
                for part in call.args:
                    if isinstance(part, ast.Constant) and isinstance(part.value, str):
                        yield f"{path.name}:{node.lineno}", part.value
                    elif isinstance(part, ast.JoinedStr):
                        yield f"{path.name}:{node.lineno}", "".join(
                            str(one.value) if isinstance(one, ast.Constant) else "{}" for one in part.values)


class Remedies(unittest.TestCase):
    def test_words_of_python(self):
        """No flags but those of a command that is named; functions and arguments that there are."""
        seen = 0
        for place, text in messages():
            seen += 1
            with self.subTest(place, text=text):
                for flag in re.finditer(r"(?<![\w-])--[a-z][a-z-]+", text):
                    self.assertRegex(text[:flag.start()], r"certspec [a-z]+|options")
                text = re.sub(r"'[^']*'|torch\.[\w.]+\(.*\)", "", text)
                for name in re.findall(r"\bcertspec\.(\w+)", text):
                    self.assertTrue(hasattr(certspec, name), name)
                for name in re.findall(r"(?<![\w.])([a-z_]{3,})\(", text):
                    self.assertTrue(name in PUBLIC or name in METHODS, name)
                for name in re.findall(r"\b([a-z_]+)=(?!=)", text):
                    self.assertIn(name, ARGUMENTS)
        self.assertGreater(seen, 60)

    def test_flags_become_arguments(self):
        """A flag without an argument is said as what the argument options takes."""
        for text, want in {
            "take --n 50": "take n=50",
            "give --tolerance 0.01, or --n0": "give tolerance=0.01, or n0",
            "as --shard 0/4 says": 'as options=["--shard=0/4"] says',
            "with --shard-by": 'with options=["--shard-by"]',
            "certspec experiment run --tier": 'certspec experiment run --tier',
        }.items():
            self.assertEqual(python_words(text, ["--n=50"]), want)


if __name__ == "__main__":
    unittest.main()
