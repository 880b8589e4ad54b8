"""Certify one run by submitit, shard by shard: python certify.py FOLDER SHARDS FLAGS…, all but --shard and --out."""

import subprocess
import sys

import submitit

folder, shards, flags = sys.argv[1], int(sys.argv[2]), sys.argv[3:]


def certify(i: int) -> None:
    subprocess.run(["certspec", "certify", *flags, "--shard", f"{i}/{shards}", "--look", f"{folder}/look.json",
                    "--out", f"{folder}/shard-{i}.ledger"], check=True)


executor = submitit.AutoExecutor(folder=f"{folder}/log")
executor.update_parameters(timeout_min=240, slurm_array_parallelism=100)
executor.submit(certify, 0).result()  # looks at the model, and computes the digest of the images
for job in executor.map_array(certify, range(1, shards)):
    job.result()
subprocess.run(["certspec", "merge", *[f"{folder}/shard-{i}.ledger" for i in range(shards)],
                "-o", f"{folder}/merged.ledger"], check=True)
