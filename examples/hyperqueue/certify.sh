#!/bin/bash
# One job of HyperQueue certifies one run: each task has a shard of the images and a ledger of its own, and the last
# task joins them. Give the number of shards and the flags of certspec certify, all but --shard and --out:
#
#   export CERTSPEC_OUT=$PWD/out/fmnist
#   ./certify.sh 1000 --model fmnist-cnn-s025 --data fashionmnist/test --sigma 0.25
#
# Or the number of parts, the word experiment, and what certspec experiment run takes, all but --shard and --out:
#
#   ./certify.sh 8 experiment sun2021/table2 --tier T1
#
# Task 0 looks at the model for all others, and computes the digest of the images where it is not in the cache. Workers
# take tasks as they become free, so images of unequal cost do no harm. HyperQueue starts the task of a worker that was
# lost again, where its ledger goes on. The number of shards is at most that of the images.

n=${1:?number of shards}
shift
out=${CERTSPEC_OUT:?names the folder of the ledgers}
certspec=${CERTSPEC:-certspec}
mkdir -p "$out/log" || exit

words() { # as an array of TOML
	local text=
	for word; do
		word=${word//\\/\\\\}
		text+="\"${word//\"/\\\"}\", "
	done
	echo "[$text]"
}

task() { # its number, those that it waits for, its words
	echo "[[task]]"
	echo "id = $1"
	echo "deps = [$2]"
	echo "stdout = \"$out/log/%{TASK_ID}.out\""
	echo "stderr = \"$out/log/%{TASK_ID}.err\""
	echo "crash_limit = 20"
	echo "command = $(words "${@:3}")"
}

merge='"$0" merge -o "$1/merged.ledger" "$1"/shard-*.ledger && "$0" ledger verify "$1/merged.ledger"'
[ "$1" != experiment ] || merge='"$0" merge "$1"/part-* --out "$1/merged"'
{
	echo 'name = "certify"'
	for ((i = 0; i < n; i++)); do
		if [ "$1" = experiment ]; then
			task "$i" "" "$certspec" experiment run "${@:2}" --shard "$i/$n" --out "$out/part-$i"
			continue
		fi
		first=0
		[ "$i" -gt 0 ] || first=
		task "$i" "$first" "$certspec" certify "$@" --shard "auto/$n" --look "$out/look.json" --out "$out/shard-$i.ledger"
	done
	task "$n" "$(seq -s, 0 $((n - 1)))" sh -c "$merge" "$certspec" "$out"
} >"$out/job.toml" && hq job submit-file "$out/job.toml"
