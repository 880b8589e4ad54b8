"""Progress as a bar of tqdm where that is installed, else as lines."""
from __future__ import annotations

import importlib
import json
import sys
import time
from typing import IO, Any

PAUSE = 10.0  #: seconds between two lines


def follow(file: IO[str]) -> None:
    """Show what the program tells, a state on each line, until it ends."""
    try:
        tqdm: Any = importlib.import_module("tqdm.auto").tqdm
    except ImportError:
        tqdm = None
    bar, last = None, time.monotonic()
    for state in map(json.loads, file):
        if tqdm is None or state["message"]:
            if state["message"] or state["final"] or time.monotonic() - last > PAUSE:
                last = time.monotonic()
                print(state["text"], file=sys.stderr, flush=True)
            continue
        if bar is None:
            bar = tqdm(desc=state["task"], total=state["total"] or None, unit=" " + state["unit"],
                       file=sys.stderr)
        bar.update(state["done"] - bar.n)
        if state["final"]:
            bar.close()
            bar = None
