"""The arguments that verbs share, and the flags of the program that they become."""
from __future__ import annotations

import difflib
import functools
import inspect
from typing import (
    Any, Callable, Dict, List, Mapping, Optional, Sequence, TypedDict, TypeVar, cast)

from ._check import Numbers, real, whole

Result = TypeVar("Result", bound=Callable[..., object])


class ModelOptions(TypedDict, total=False):
    """How images enter a model, and what it answers."""

    mean: Numbers
    std: Numbers
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


OF_IMAGES = ("image_layout", "data_name", "progress", "options")  #: the others are of the model
DEFAULTS: Dict[str, object] = {"layout": "chw", "output": "logits", "name": "",
                               "data_name": "images", "progress": True, "options": ()}


def shared(kind: type) -> Callable[[Result], Result]:
    """Let help() show the arguments that a verb shares with others, and refuse those of none.

    >>> shared(RunOptions)(lambda **given: given)(blok=100)
    Traceback (most recent call last):
    ...
    TypeError: <lambda>() has no argument 'blok'; did you mean 'block'?
    """
    def decorate(function: Result) -> Result:
        own = inspect.signature(function)
        kept = [p for p in own.parameters.values() if p.kind is not inspect.Parameter.VAR_KEYWORD]
        more = [inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, annotation=note,
                                  default=DEFAULTS.get(name))
                for name, note in kind.__annotations__.items()]
        names = [parameter.name for parameter in kept + more]

        @functools.wraps(function)
        def checked(*arguments: object, **given: object) -> object:
            for name in given:
                if name not in names:
                    near = difflib.get_close_matches(name, names, 1)
                    hint = f"; did you mean {near[0]!r}?" if near else ""
                    raise TypeError(f"{function.__name__}() has no argument {name!r}{hint}")
            return function(*arguments, **given)

        checked.__signature__ = own.replace(parameters=kept + more)  # type: ignore[attr-defined]
        return cast(Result, checked)

    return decorate


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
        if word.startswith("-") and _flag(word) in taken:
            raise ValueError(f"options has {word.partition('=')[0]}, which the call gives already")
    return list(options)


def _flag(word: str) -> str:
    return "--out" if word.startswith("-o") else word.partition("=")[0]
