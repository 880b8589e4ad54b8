"""One contender of a benchmark: runs work on request and says how much it did.

    worker.py FRAMEWORK FORM

FRAMEWORK is torch, torchmetrics, jax, numpy, augment or imagecorruptions. Requests and answers are JSON, one a line, on standard input and
output. {"prepare": {"task": …, "net": …, "batch": …}} builds and warms up the work and answers
{"seconds": …}; {"run": SECONDS, "processor": …} repeats it for at least so long and answers
{"units": …, "seconds": …}, the seconds of the processor where that is true, in noise samples, training images, noise values, ADMM
steps, samples, views or corrupted images.
"""

import importlib
import json
import sys
import time

SIGMA = 0.25


def main():
    framework = importlib.import_module(f"with_{sys.argv[1]}")
    print(json.dumps({"version": framework.VERSION}), flush=True)
    step, units = None, 0
    for line in sys.stdin:
        request = json.loads(line)
        start = time.perf_counter()
        if "prepare" in request:
            step, units = framework.prepare(form=sys.argv[2], sigma=SIGMA, **request["prepare"])
            for _ in range(3):
                step()
            answer = {}
        else:
            clock = time.process_time if request.get("processor") else time.perf_counter
            done, begin = 0, clock()
            while time.perf_counter() - start < request["run"]:
                step()
                done += units
            answer = {"units": done, "seconds": clock() - begin}
        print(json.dumps({"seconds": time.perf_counter() - start} | answer), flush=True)


main()
