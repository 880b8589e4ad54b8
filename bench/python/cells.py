"""Asks a Jupyter kernel what a person asks, and prints how long each answer took, in seconds."""
import json
import os
import sys
import time

from jupyter_client.manager import KernelManager

PATIENCE = dict(reply=True, timeout=300)
asked = json.load(sys.stdin)
began = time.monotonic()
manager = KernelManager(kernel_name=asked["kernel"])
manager.kernel_spec_manager.kernel_dirs.insert(0, asked["kernels"])
log = open(os.devnull, "w")
manager.start_kernel(cwd=asked["folder"], stdout=log, stderr=log)
client = manager.client()
client.start_channels()


def execute(cell, output):
    return client.execute_interactive(cell, allow_stdin=False, output_hook=output, timeout=300)["content"]


def run(name, cell):
    since = time.monotonic()
    answer = execute(cell, lambda message: None)
    if answer["status"] != "ok":
        sys.exit("\n".join(answer["traceback"]))
    took[name] = time.monotonic() - since


def ask(name, question, found):
    """Asks again until the kernel knows."""
    since = time.monotonic()
    while not found(question()["content"]):
        if time.monotonic() - since > 300:
            sys.exit(f"{name}: no answer in five minutes")
    took[name] = time.monotonic() - since


def interrupt(message):
    """Interrupts a cell at the first that it prints."""
    if message["msg_type"] == "stream" and "interrupt" not in took:
        took["interrupt"] = time.monotonic()
        manager.interrupt_kernel()


took = {}
try:
    client.wait_for_ready(timeout=300)
    took["kernel ready"] = time.monotonic() - began
    half, whole = asked["half"], asked["whole"]
    matches = lambda content: content.get("matches")
    ask("first Tab", lambda: client.complete(half, len(half), **PATIENCE), matches)
    ask("later Tab", lambda: client.complete(half, len(half), **PATIENCE), matches)
    ask("Shift+Tab", lambda: client.inspect(whole, len(whole), **PATIENCE), lambda content: content.get("found"))
    run("first cell", asked["first"])
    for name in ("cell without network", "cell with network"):
        run(name + ", first", asked[name] % 0)
        run(name + ", changed", asked[name] % 1)
    if execute(asked["endless"], interrupt)["status"] != "error":
        sys.exit("the cell had ended before it was interrupted")
    took["interrupt"] = time.monotonic() - took["interrupt"]
finally:
    manager.shutdown_kernel(now=True)
json.dump(took, sys.stdout)
