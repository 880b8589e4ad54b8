#!/bin/bash
# How near to the ideal HyperQueue's scheduler comes on a cluster that this machine only pretends to be: tasks that sleep
# as long as shards under the staged rule compute, on workers that claim many processors. Needs hq and python3.
#
#   ./sleep.sh 10000 1000     # tasks, places
set -e
tasks=${1:?number of tasks} places=${2:?number of places}
dir=$(mktemp -d)
cd "$dir"
# Seconds by task: of images that stop early, at half or never, 12 s in the mean, and a lognormal factor.
python3 - "$tasks" "$places" <<'PYTHON'
import math, random, sys
random.seed(1)
seconds = [12 / .71 * random.choices([.2, .5, 1], [.15, .35, .5])[0] * math.exp(random.gauss(0, .2))
           for _ in range(int(sys.argv[1]))]
open("seconds", "w").writelines(f"{s:.3f}\n" for s in seconds)
print(f"ideal {sum(seconds) / int(sys.argv[2]):.0f} s, the longest task {max(seconds):.0f} s")
PYTHON
export HQ_SERVER_DIR=$dir/server
trap 'hq server stop >/dev/null 2>&1; kill $(jobs -p) 2>/dev/null; rm -rf "$dir"' EXIT
hq server start >server.log 2>&1 &
until hq server info >/dev/null 2>&1; do sleep 0.2; done
for worker in 1 2 3 4; do
	hq worker start --cpus $((places / 4)) --on-server-lost stop >"worker-$worker.log" 2>&1 &
done
sleep 5
begun=$SECONDS
hq submit --array "1-$tasks" --stdout none --stderr none --wait \
	bash -c 'read -r seconds < <(tail -n +$HQ_TASK_ID seconds); exec sleep $seconds' >submit.log 2>&1
echo "$tasks tasks on $places places: $((SECONDS - begun)) s"
