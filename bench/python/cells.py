"""Asks a Jupyter kernel what a person asks, and prints how long each answer took, in seconds."""
import json
import os
import sys
import time

from jupyter_client.manager import KernelManager

asked = json.load(sys.stdin)
began = time.monotonic()
manager = KernelManager(kernel_name=asked["kernel"])
manager.kernel_spec_manager.kernel_dirs.insert(0, asked["kernels"])
log = open(os.devnull, "w")
manager.start_kernel(cwd=asked["folder"], stdout=log, stderr=log)
client = manager.client()
client.start_channels()


def reply(request):
    while True:
        message = client.get_shell_msg(timeout=300)
        if message["parent_header"].get("msg_id") == request:
            return message["content"]


def idle(request, wanted=()):
    """Waits for the end of a cell, or for its first output of a kind."""
    while True:
        message = client.get_iopub_msg(timeout=300)
        if message["parent_header"].get("msg_id") != request:
            continue
        if message["msg_type"] == "error":
            sys.exit("\n".join(message["content"]["traceback"]))
        if message["msg_type"] in wanted or message["content"].get("execution_state") == "idle":
            return


def run(name, cell):
    since = time.monotonic()
    request = client.execute(cell)
    idle(request)
    reply(request)
    took[name] = time.monotonic() - since


def ask(name, question, found):
    """Asks again until the kernel knows."""
    since = time.monotonic()
    while not found(reply(question())):
        if time.monotonic() - since > 300:
            sys.exit(f"{name}: no answer in five minutes")
    took[name] = time.monotonic() - since


took = {}
try:
    client.wait_for_ready(timeout=300)
    took["kernel ready"] = time.monotonic() - began
    half, whole = asked["half"], asked["whole"]
    matches = lambda content: content.get("matches")
    ask("first Tab", lambda: client.complete(half, len(half)), matches)
    ask("later Tab", lambda: client.complete(half, len(half)), matches)
    ask("Shift+Tab", lambda: client.inspect(whole, len(whole)), lambda content: content.get("found"))
    run("first cell", asked["first"])
    for name in ("cell without network", "cell with network"):
        run(name + ", first", asked[name] % 0)
        run(name + ", changed", asked[name] % 1)
    request = client.execute(asked["endless"])
    idle(request, ("stream",))
    since = time.monotonic()
    manager.interrupt_kernel()
    if reply(request)["status"] != "error":
        sys.exit("the cell had ended before it was interrupted")
    took["interrupt"] = time.monotonic() - since
finally:
    manager.shutdown_kernel(now=True)
json.dump(took, sys.stdout)
