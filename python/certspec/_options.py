"""The arguments that verbs share, and the flags of the program that they become."""
from __future__ import annotations

import difflib
import inspect
from typing import (
    TYPE_CHECKING, Any, Callable, Dict, List, Mapping, Optional, Sequence, TypedDict, TypeVar)

from ._check import real, whole

if TYPE_CHECKING:
    from ._check import Numbers

    Result = TypeVar("Result", bound=Callable[..., object])


class ModelOptions(TypedDict, total=False):
    """How images enter a model, and what it answers."""

    mean: "Numbers"
    std: "Numbers"
    layout: str
    output: str
    classes: Optional[int]
    name: str
    identity: Optional[str]
    batch_size: Optional[int]
    device: object
    image_layout: Optional[str]
    data_name: str
    progress: bool
    options: Sequence[str]


class PlanOptions(ModelOptions, total=False):
    """Settings of noise samples and their claims."""

    alpha: float
    noise: str
    block: int


class RunOptions(PlanOptions, total=False):
    """Settings of a certification."""

    n0: int
    rule: str
    tolerance: float
    relative: bool
    radii: Sequence[float]
    futility: float
    budget: str
    until: str
    workers: int
    seed: Optional[int]
    keep_scores: object


IMAGE = ("image_layout", "data_name")
CALL = ("progress", "options")
MODEL = tuple(name for name in ModelOptions.__annotations__ if name not in IMAGE + CALL)
DEFAULTS: Dict[str, object] = {
    "layout": "chw", "output": "logits", "name": "", "data_name": "images", "progress": True,
    "options": ()}


def explained(kind: type) -> "Callable[[Result], Result]":
    """Let help() and editors show the shared arguments of a function."""
    def decorate(function: "Result") -> "Result":
        own = inspect.signature(function)
        kept = [p for p in own.parameters.values() if p.kind is not inspect.Parameter.VAR_KEYWORD]
        more = [inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, annotation=note,
                                  default=DEFAULTS.get(name))
                for name, note in kind.__annotations__.items()]
        function.__signature__ = own.replace(parameters=kept + more)  # type: ignore[attr-defined]
        return function

    return decorate


def known(verb: str, kind: type, given: Mapping[str, object]) -> None:
    """Refuse an argument that a verb does not have.

    >>> known("certify", RunOptions, {"blok": 100})
    Traceback (most recent call last):
    ...
    TypeError: certify() has no argument 'blok'; did you mean 'block'?
    """
    for name in given:
        if name not in kind.__annotations__:
            near = difflib.get_close_matches(name, kind.__annotations__, 1)
            hint = f"; did you mean {near[0]!r}?" if near else ""
            raise TypeError(f"{verb}() has no argument {name!r}{hint}")


def only(names: Sequence[str], given: Mapping[str, object]) -> Dict[str, Any]:
    """The arguments of these names."""
    return {name: given[name] for name in names if name in given}


def flags(given: Mapping[str, object]) -> List[str]:
    """The flags of arguments.

    >>> flags({"alpha": 0.01, "n0": 200, "radii": [0.25, 0.5], "relative": True, "seed": None})
    ['--alpha=0.01', '--n0=200', '--radii=0.25,0.5', '--relative=true']
    """
    words: List[str] = []
    for name, value in given.items():
        if value is None or name == "keep_scores" and value is False:
            continue
        if name == "keep_scores" and value is True:
            words.append("--keep-scores")
            continue
        words.append(f"--{name.replace('_', '-')}={_text(name, value)}")
    return words


def _text(name: str, value: object) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, str):
        return value
    if isinstance(value, (list, tuple)):
        return ",".join(_text(name, item) for item in value)
    if name in ("n", "n0", "block", "workers", "seed", "keep_scores", "images", "steps"):
        return str(whole(value, name))
    return repr(real(value, name))


def further(options: Any, ours: Sequence[str]) -> List[str]:
    """Further flags of the program, which may not replace those that the call gives.

    >>> further(["--sigma=0.5"], ["--sigma=0.25"])
    Traceback (most recent call last):
    ...
    ValueError: options has --sigma, which the call gives already
    """
    if isinstance(options, (str, Mapping)) or not all(isinstance(word, str) for word in options):
        raise TypeError(f"options is {options!r}; expected a list of words, as ['--rule', 'fixed']")
    taken = {_flag(word) for word in ours} | {"--model", "--exec", "--exec-fds", "--exec-processes"}
    for word in options:
        if _flag(word) in taken:
            raise ValueError(f"options has {word.partition('=')[0]}, which the call gives already")
    return list(options)


def _flag(word: str) -> str:
    name = word.partition("=")[0]
    if name.startswith("-o") or name == "--ledger":
        return "--out"
    return name if name.startswith("-") else ""
