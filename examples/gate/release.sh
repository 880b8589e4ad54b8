#!/bin/bash
# Gates a release class by class, and keeps what shows it beside the certified radii of the new network:
#
#   ./release.sh OLD.onnx NEW.onnx DATA FOLDER
#
# It ends with exit code 1 where a class lost more than 5 points, and 3 where that is not decided.
set -e
old=${1:?the network in use} new=${2:?the network to release} data=${3:?a set} out=${4:?a new folder}
mkdir "$out"
certspec gate "$old" "$new" --data "$data" --sigma 0.25 --radius 0.25 --drop 0.05 --by-class \
	--out "$out/gate.record" --junit "$out/gate.xml" --statement "$out/gate.intoto.json"
certcheck --statement "$out/gate.intoto.json" "$out/gate.record"
certspec certify "$new" --data "$data" --sigma 0.25 --n 1000 --out "$out/new.ledger"
certspec ledger attest "$out/new.ledger" --at-least 0.25=0.5 -o "$out/new.intoto.json"
certcheck --statement "$out/new.intoto.json" "$out/new.ledger"
