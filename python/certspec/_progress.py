"""How progress is shown: a bar of tqdm where that is installed, else lines."""
from __future__ import annotations

import sys
import time
from typing import Callable, Dict, List, Union

State = Dict[str, Union[str, float, bool]]  #: task, done, total, unit, text and more
Show = Callable[[State], None]

PAUSE = 10.0  #: seconds between two lines where standard error is no terminal


def shower(show: bool) -> Show:
    """Give a function that shows a state."""
    if not show:
        return lambda state: None
    try:
        from tqdm.auto import tqdm
    except ImportError:
        return _lines()

    bars: List["tqdm[None]"] = []

    def bar(state: State) -> None:
        if state["message"]:
            tqdm.write(str(state["text"]), file=sys.stderr)
            return
        if not bars:
            bars.append(tqdm(desc=str(state["task"]), total=int(state["total"]) or None,
                             unit=" " + str(state["unit"]), file=sys.stderr))
        bars[0].update(int(state["done"]) - bars[0].n)
        if state["final"]:
            bars.pop().close()

    return bar


def _lines() -> Show:
    """Lines now and then; in a terminal one line that changes."""
    last = [time.monotonic()]
    terminal = sys.stderr.isatty()

    def line(state: State) -> None:
        text = str(state["text"])
        if state["message"] or state["final"]:
            sys.stderr.write(("\r\x1b[K" if terminal else "") + text + "\n")
        elif terminal:
            sys.stderr.write("\r\x1b[K" + text)
        elif time.monotonic() - last[0] >= PAUSE:
            last[0] = time.monotonic()
            sys.stderr.write(text + "\n")
        sys.stderr.flush()

    return line
