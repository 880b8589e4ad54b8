#!/bin/bash
# Tries certify.sh on this machine alone: starts a server and two workers of HyperQueue, kills a worker with -9 when half
# of the ledgers are there, and compares the merged ledger, byte by byte, with that of one run. Give what certify.sh takes:
#
#   ./try.sh 1000 --model fmnist-cnn-s025 --data fashionmnist/test --count 1000 --sigma 0.25 --n 1000
#
# CERTSPEC names the program; certspec and hq of the PATH are taken. CERTSPEC_OUT names a folder that is not there yet.
set -e
here=$(cd "$(dirname "$0")" && pwd)
n=${1:?number of shards}
export CERTSPEC_OUT=${CERTSPEC_OUT:-$PWD/out/hyperqueue} CERTSPEC=${CERTSPEC:-certspec}
[ ! -e "$CERTSPEC_OUT" ] || { echo "$CERTSPEC_OUT is there: expected a new folder; name one by CERTSPEC_OUT" >&2; exit 1; }
mkdir -p "$CERTSPEC_OUT"
export HQ_SERVER_DIR=$CERTSPEC_OUT/server
trap 'hq server stop >/dev/null 2>&1; kill $(jobs -p) 2>/dev/null' EXIT

worker() { # its number
	hq worker start --cpus 1 --on-server-lost stop >"$CERTSPEC_OUT/worker-$1.log" 2>&1 &
}
hq server start >"$CERTSPEC_OUT/server.log" 2>&1 &
until hq server info >/dev/null 2>&1; do sleep 0.2; done
worker 0
first=$!
worker 1

begun=$SECONDS
"$here/certify.sh" "$@"
until [ "$(find "$CERTSPEC_OUT" -name 'shard-*.ledger' | wc -l)" -ge $((n / 2)) ]; do sleep 0.5; done
kill -9 "$first" && echo "killed a worker at $((SECONDS - begun)) s"
worker 2
hq job wait last
echo "$n shards: $((SECONDS - begun)) s"

begun=$SECONDS
"$CERTSPEC" certify "${@:2}" --out "$CERTSPEC_OUT/one.ledger"
echo "one run: $((SECONDS - begun)) s"
cmp "$CERTSPEC_OUT/merged.ledger" "$CERTSPEC_OUT/one.ledger" && echo "equal bytes"
