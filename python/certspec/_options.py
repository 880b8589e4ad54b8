"""Arguments as people have them, or a reason why not, and the flags that they become."""
from __future__ import annotations

import difflib
import functools
import math
import numbers
import os
from inspect import Parameter, Signature, signature
from typing import Any, Callable, Mapping, Sequence, TypedDict, TypeVar, Union, cast

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]
Path = Union[str, "os.PathLike[str]"]
Numbers = Union[None, float, Sequence[float], object]  #: or an array or tensor
Result = TypeVar("Result", bound=Callable[..., object])


class ModelOptions(TypedDict, total=False):
    """How images enter a model, and what it answers."""
    mean: Numbers
    std: Numbers
    layout: str
    output: str
    classes: int | None
    class_names: Sequence[str] | None
    name: str
    identity: str | None
    batch_size: int | None
    device: object
    processor: object
    image_layout: str | None
    data_name: str
    progress: bool
    options: Sequence[str]


class PlanOptions(ModelOptions, total=False):
    """Settings of noise samples and their claims."""
    alpha: float
    noise: str
    block: int | None


class RunOptions(PlanOptions, total=False):
    """Settings of a certification."""
    n0: int | None
    rule: str
    tolerance: float | None
    relative: bool
    radii: Sequence[float] | None
    futility: float | None
    budget: str | None
    until: str | None
    workers: int | None
    seed: int | None
    keep_scores: bool | int | str


OF_IMAGES = ("image_layout", "data_name", "progress", "options")  #: the others are of the model
DEFAULTS: dict[str, object] = {
    "layout": "chw", "output": "logits", "name": "", "data_name": "images", "progress": True,
    "options": (), "alpha": 0.001, "noise": "grid", "rule": "staged", "relative": False,
    "keep_scores": False}  #: of the others: None, which is said where the argument is explained
RULES = ("staged", "fixed", "iss", "betting", "anytime")
SHARES = ("alpha", "futility", "miscoverage")  #: between 0 and 1
REALS = ("tolerance", "epsilon", "rate", "width", "sigma")
WHOLE = {"n": 1, "n0": 1, "block": 1, "workers": 1, "seed": 0, "images": 1, "steps": 1,
         "severity": 1, "count": 1}  #: with the least value


class Note:
    """An annotation, as it is written."""

    def __init__(self, text: str) -> None:
        self.text = text.strip("'").replace("Numbers", "float | Sequence[float] | None")

    def __repr__(self) -> str:
        return self.text


class Lines(Signature):
    """A signature that is as wide as a screen."""

    def __str__(self) -> str:
        words, line = [], ""
        for word in super().__str__().split(", "):
            if line and len(line) + len(word) > 84:
                words.append(line)
                line = ""
            line += word + ", "
        return "\n    ".join(part.rstrip() for part in [*words, line])[:-1]


def shared(kind: type) -> Callable[[Result], Result]:
    """Let help() show the arguments that a verb shares with others, and refuse those of none."""
    def decorate(function: Result) -> Result:
        own = signature(function)
        kept = [p for p in own.parameters.values() if p.kind is not Parameter.VAR_KEYWORD]
        more = [Parameter(name, Parameter.KEYWORD_ONLY, annotation=note.__forward_arg__,
                          default=DEFAULTS.get(name)) for name, note in kind.__annotations__.items()
                if name not in own.parameters]
        names = [parameter.name for parameter in kept + more]

        @functools.wraps(function)
        def checked(*arguments: object, **given: object) -> object:
            for name in given:
                if name not in names:
                    near = difflib.get_close_matches(name, names, 1)
                    hint = f"; did you mean {near[0]!r}?" if near else ""
                    raise TypeError(f"{function.__name__}() has no argument {name!r}{hint}")
            pipe: Any = given.get("model", arguments[0] if arguments else None)  # of transformers
            if all(hasattr(pipe, part) for part in ("image_processor", "model", "task")):
                given = {"processor": pipe.image_processor, **given}
                if "model" in given:
                    given["model"] = pipe.model
                else:
                    arguments = pipe.model, *arguments[1:]
            return function(*arguments, **given)

        checked.__dict__["__signature__"] = own.replace(parameters=kept + more)
        return cast(Result, checked)

    return decorate


def readable(function: Any) -> None:
    """Let help() show annotations as they are written."""
    own = signature(function)
    noted = [p if p.annotation is p.empty else p.replace(annotation=Note(str(p.annotation)))
             for p in own.parameters.values()]
    back = own.return_annotation
    function.__signature__ = Lines(noted, return_annotation=back if back is own.empty
                                   else Note(str(back)))


def flags(given: Mapping[str, object]) -> list[str]:
    """The flags of arguments, each checked."""
    words: list[str] = []
    for name, value in given.items():
        flag = f"--{name.replace('_', '-')}"
        if name == "keep_scores" and isinstance(value, (bool, np.bool_)):
            words += [flag] * bool(value)
        elif value is not None:
            words.append(f"{flag}={_text(name, value)}")
    return words


def _text(name: str, value: object) -> str:
    if name in WHOLE and not isinstance(value, (list, tuple)):
        return str(whole(value, name, WHOLE[name]))
    if name in SHARES:
        return repr(share(value, name))
    if name in REALS:
        return repr(real(value, name))
    if name == "rule":
        return word(value, name, RULES)
    if name == "noise" and not str(value).startswith("spectrum:"):
        return word(value, name, ("grid", "gaussian"))
    if name == "relative" or isinstance(value, (bool, np.bool_)):
        if not isinstance(value, (bool, np.bool_)):
            raise TypeError(f"{name} is a {type(value).__name__}; expected True or False")
        return str(bool(value)).lower()
    if isinstance(value, str):
        return value
    if isinstance(value, (list, tuple)):
        return ",".join(_text(name, item) for item in value)
    if name == "keep_scores":
        return str(whole(value, name, 1))
    return str(int(value)) if isinstance(value, numbers.Integral) else repr(real(value, name))


def further(options: Any, ours: Sequence[str]) -> list[str]:
    """Further flags of the program, which may not replace those that the call gives."""
    if isinstance(options, (str, Mapping)) or not all(isinstance(word, str) for word in options):
        raise TypeError(f"options is {options!r}; expected a list of words, as ['--rule', 'fixed']")
    taken = {_flag(word) for word in ours} | {"--model", "--exec", "--exec-fds", "--exec-processes"}
    for word in options:
        if word.startswith("-") and _flag(word) in taken:
            raise ValueError(f"options has {word.partition('=')[0]}, which the call gives already")
    return list(options)


def _flag(word: str) -> str:
    return "--out" if word.startswith("-o") else word.partition("=")[0]


def whole(value: object, name: str, least: int = 0) -> int:
    """A whole number."""
    number = real(value, name)
    if number != math.floor(number) or number < least:
        raise ValueError(f"{name} is {value}; expected a whole number of at least {least}")
    return int(value) if isinstance(value, numbers.Integral) else int(number)


def share(value: object, name: str) -> float:
    """A number between 0 and 1."""
    number = real(value, name)
    if not 0 < number < 1:
        raise ValueError(f"{name} is {number:g}; expected a number between 0 and 1")
    return number


def real(value: object, name: str) -> float:
    """A finite number."""
    if hasattr(value, "item") and not isinstance(value, numbers.Number):
        value = value.item()  # an array or a tensor of one value
    if isinstance(value, (bool, np.bool_)) or not isinstance(value, numbers.Real):
        raise TypeError(f"{name} is a {type(value).__name__}; expected a number")
    number = float(value)
    if not math.isfinite(number):
        raise ValueError(f"{name} is {number}; expected a finite number")
    return number


def distances(radii: Any, name: str) -> list[float]:
    """Radii: one, or several."""
    values = [radii] if np.ndim(radii) == 0 else list(radii)
    found = [real(value, name) for value in values]
    if not found or min(found) < 0:
        raise ValueError(f"{name} is {radii!r}; expected radii of at least 0")
    return found


def spread(sigma: object) -> float:
    """The standard deviation of the noise, where white is 1."""
    number = real(sigma, "sigma")
    if not 0 < number <= 1:
        hint = f": did you mean {number:g}/255? The program takes larger ones" if number > 1 else ""
        raise ValueError(f"sigma is {number:g}; expected a number above 0, where white is 1{hint}")
    return number


def word(value: object, name: str, known: Sequence[str]) -> str:
    """One of some words."""
    if value not in known:
        raise ValueError(f"{name} is {value!r}; expected {' or '.join(map(repr, known))}")
    return str(value)


def host(values: Any) -> Array:
    """An array in the memory of the host: of a tensor on any device, of an array, or of lists."""
    if hasattr(values, "detach"):
        values = values.detach().cpu()  # NumPy has no bfloat16, and float32 has them all
        values = (values.float() if str(values.dtype) == "torch.bfloat16" else values).numpy()
    return np.asarray(values)


def numeric(array: Array, name: str) -> Array:
    """Refuse what is no array of real numbers."""
    if array.dtype.kind not in "iuf" and array.dtype.name not in ("bfloat16",):
        raise TypeError(f"{name} are of type {array.dtype}; expected numbers")
    return array


def integers(values: object, name: str) -> NDArray[np.int64]:
    """Whole numbers as int64; what would be cut is refused."""
    array = numeric(host(values), name)
    with np.errstate(invalid="ignore"):
        cut = array.astype(np.int64)
        wrong = cut != array
    if wrong.any():
        first = array[wrong].reshape(-1)[0].item()
        raise ValueError(f"{name} hold {first}; expected whole numbers")
    return cut


def of_file(model: object) -> None:
    """Refuse a model of this process, where a verb reads its layers."""
    if not isinstance(model, (str, os.PathLike)):
        raise TypeError(f"model is a {type(model).__name__}; expected the path of a file: "
                        "export_onnx writes one of a torch.nn.Module")


def class_list(value: Sequence[str] | None) -> list[str] | None:
    """Names of classes, class 0 first."""
    if isinstance(value, str) or not all(isinstance(name, str) and name.strip().isprintable()
                                         and name.strip() for name in value or ()):
        raise TypeError(f"class_names is {value!r}; expected a name for each class, as "
                        "['cat', 'dog']")
    return None if value is None else [name.strip() for name in value]


def normalisation(mean: Numbers, std: Numbers, channels: int) -> dict[str, list[float]]:
    """Mean and standard deviation, where given: one number, or one for each channel."""
    found: dict[str, list[float]] = {}
    for name, value, above in (("mean", mean, ""), ("std", std, ", above 0")):
        if value is None:
            continue
        array = numeric(host(value), name).astype(np.float64).reshape(-1)
        good = np.isfinite(array) & ((array > 0) | (not above))
        if len(array) not in (1, channels) or not good.all():
            raise ValueError(f"{name} is {value!r}; expected one number, or {channels} for the "
                             f"channels{above}")
        found[name] = array.tolist()
    return found
