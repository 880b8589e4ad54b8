package main

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/certspec/certspec/internal/testkit/engines"
)

// What the documents warn of, and the program can see, it says: images that a network was trained on, or that gave the
// ranges of its integers; a network at chance; a drop of less than an image.
func TestWarnsOfWhatItSees(t *testing.T) {
	engines.NeedONNXRuntime(t)
	t.Setenv("CERTSPEC_DATA", t.TempDir())
	dir := t.TempDir()
	trained, whole := filepath.Join(dir, "net"), filepath.Join(dir, "net.intnet")
	for _, args := range []string{
		"train --data synthetic[count=8] --test synthetic/test[count=2] --epochs 1 --batch 8 --width 0.25 --sigma 0.25 --engine go --out " + trained,
		"quantize " + guessing(t) + " --data synthetic/train[range=0:20] --sigma 0.25 --calibrate 20 --out " + whole,
	} {
		if text, code := output(t, strings.Fields(args)...); code != 0 {
			t.Fatalf("%s: exit code %d: %s", args, code, text)
		}
	}
	const (
		trainedOn, ranges, may = "trained this network", "gave the ranges of this quantised network", "may be among these"
		these, chance, drop    = "warning: these", "guessing does as well", "is less than one image"
	)
	settings := " --sigma 0.25 --n 100 --block 50 --data "
	for args, says := range map[string]string{
		"certify " + trained + " --engine go --rule fixed" + settings + "synthetic/train[count=8]": these + ";" + trainedOn,
		"certify " + trained + " --engine go --rule fixed" + settings + "synthetic/train[count=4]": trainedOn + ";" + may,
		"calib sets " + trained + " --engine go --sigma 0.25 --data synthetic/train[count=8]":      these + ";" + trainedOn,
		"certify " + whole + " --rule fixed" + settings + "synthetic/train[range=0:20]":            these + ";" + ranges,
		"certify " + whole + " --rule fixed" + settings + "synthetic/train[range=0:10]":            ranges + ";" + may,
		"certify " + whole + " --rule fixed" + settings + "synthetic/test[count=20]":               chance,
		"predict " + whole + settings + "synthetic/train[range=0:20]":                              these + ";" + ranges,
		"gate " + whole + " " + whole + " --radius 0.1 --n0 50 --drop 0.01 --images 1" + settings + "synthetic/train[range=0:20]": these + ";" +
			ranges + ";" + drop,
		"gate " + whole + " " + whole + " --radius 0.1 --n0 50 --drop 0.05 --images 1" + settings + "synthetic/test[count=20]": chance,
	} {
		cmd, _, stderr := program(t, strings.Fields(args)...)
		if err := cmd.Run(); err != nil && cmd.ProcessState.ExitCode() != 3 { // an undecided gate
			t.Errorf("%s: %v: %s", args, err, stderr)
		}
		for _, what := range []string{trainedOn, ranges, may, these, drop} {
			if strings.Contains(stderr.String(), what) != strings.Contains(says, what) {
				t.Errorf("%s: %q is said or not; expected %s: %s", args, what, says, stderr)
			}
		}
		if says == chance && !strings.Contains(stderr.String(), chance) {
			t.Errorf("%s: %s", args, stderr)
		}
	}
}
