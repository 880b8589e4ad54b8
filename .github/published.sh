#!/usr/bin/env bash
# Lets the pages say "pip install certspec", once the index has the package. Nothing happens a second time.
set -eu
cd "$(dirname "$0")/.."
replace() {
	grep -qF -- "$2" "$1" && return
	grep -qF -- "$3" "$1" || { echo "$1 has no line: $3" >&2; exit 1; }
	FROM=$3 TO=$2 perl -pi -e 's/\Q$ENV{FROM}\E/$ENV{TO}/' "$1"
}
replace README.md 'python3 -m venv env && env/bin/pip install -q torch certspec' \
	'make wheel PLATFORM=linux/amd64 && python3 -m venv env && env/bin/pip install -q torch dist/certspec-*.whl'
replace docs/onnx.md 'pip install torch onnx onnxscript certspec' 'pip install torch onnx onnxscript dist/certspec-*.whl'
replace docs/python.md 'pip install certspec' 'pip install dist/certspec-*-manylinux*_x86_64.whl'
replace docs/python.md 'It comes from the index:' 'Until it is published, install the file that `make wheel PLATFORM=linux/amd64` writes:'
