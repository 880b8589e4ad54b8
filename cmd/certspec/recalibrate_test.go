package main

import (
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/certspec/certspec/internal/testkit"
)

// A map that is fitted on one half lowers the certified errors on the other, claims stay in their order, and what was fitted on is not judged.
func TestRecalibrate(t *testing.T) {
	const scored = "../../notebooks/results/fmnist-cnn-s025-scores.ledger"
	const cifar = "../../notebooks/results/cifar10-resnet20-s025-staged.ledger"
	saved, other := filepath.Join(t.TempDir(), "map.json"), filepath.Join(t.TempDir(), "other.json")
	text, code := output(t, "calib", "recalibrate", "--ledger", scored, "--radii", "0.1,0.5", "--json", "--save", saved)
	var all []struct {
		N    int `json:"n"`
		Map  struct{ A, B, C float64 }
		Rows []struct {
			CCE, CBS float64
			Joint    float64 `json:"joint_cce"`
		}
		Useless bool `json:"no_better_than_a_constant"`
	}
	if err := json.Unmarshal([]byte(text), &all); err != nil || code != 0 || len(all) != 2 {
		t.Fatalf("exit code %d, %v: %s", code, err, text)
	}
	was, is, flat := all[0].Rows[0], all[0].Rows[1], all[0].Rows[2]
	if !(is.CCE < .7*was.CCE && is.CBS < .9*was.CBS && is.CBS < flat.CBS) || all[0].Useless || all[0].Map.A <= 0 {
		t.Errorf("at 0.1: %+v", all[0])
	}
	for _, row := range all[0].Rows {
		if !(row.CCE <= row.Joint && row.Joint <= row.CCE+.02) {
			t.Errorf("the joint claim is %v, the certified error %v", row.Joint, row.CCE)
		}
	}
	if !all[1].Useless || all[1].Map.A != 0 {
		t.Errorf("at 0.5, where only a constant is left: %+v", all[1])
	}

	csv := testkit.Write(t, []byte("correct,confidence\n1,.9\n0,.8\n0,.2\n1,.4\n1,.6\n0,.3\n0,.5\n1,.9\n"),
		t.TempDir(), "p.csv")
	for bad, want := range map[string]int{
		"--ledger " + scored + " --radii 0.1,0.5 --map " + saved: 1, // was fitted on it
		"--ledger " + scored + " --fit " + scored:                2,
		"--in " + csv + " --map " + saved:                        2, // of two radii
		"--in " + csv + " --objective certified-brier":           2,
		"--in " + csv + " --map " + csv:                          1,
		"--in " + csv:                                            0,
		"--in " + csv + " --population":                          2, // its images are not known
		"--in " + csv + " --save " + other:                       0,
	} {
		if text, code := output(t, strings.Fields("calib recalibrate "+bad)...); code != want {
			t.Errorf("%s: exit code %d, %s, want %d", bad, code, text, want)
		}
	}
	// A claim for the population is made where the images could be compared, and the map's are known.
	one := filepath.Join(t.TempDir(), "one.json")
	if _, code := output(t, "calib", "recalibrate", "--ledger", scored, "--radii", "0.1", "--save", one); code != 0 {
		t.Fatal("no map is saved")
	}
	held, err := os.ReadFile(one)
	if err == nil {
		err = os.WriteFile(other+"x", []byte(strings.Replace(string(held), `"a":`, `"slope":`, 1)), 0o666)
	}
	if err != nil {
		t.Fatal(err)
	}
	if text, code := output(t, "calib", "recalibrate", "--in", csv, "--map", other+"x"); code != 1 {
		t.Errorf("a map with a mistyped key: exit code %d, %s", code, text)
	}
	for args, want := range map[string]bool{
		"--ledger " + scored + " --population":                  true,
		"--ledger " + scored:                                    false,
		"--ledger " + cifar + " --map " + one + " --population": true,
	} {
		t.Run(args, func(t *testing.T) {
			if want && os.Getenv("CERTSPEC_DATA") == "" {
				t.Skip("needs the images of FashionMNIST and CIFAR-10: CERTSPEC_DATA names no folder")
			}
			text, code := output(t, append([]string{"calib", "recalibrate", "--radii", "0.1", "--json"}, strings.Fields(args)...)...)
			var answers []struct {
				N     int
				Joint struct{ Population *float64 }
			}
			if err := json.Unmarshal([]byte(text), &answers); err != nil || code != 0 || len(answers) != 1 {
				t.Fatalf("exit code %d, %v: %s", code, err, text)
			}
			p := answers[0].Joint.Population
			if want != (p != nil) || want && math.Abs(*p-math.Sqrt(2*math.Log(1000)/float64(answers[0].N))) > 1e-9 {
				t.Error(text)
			}
		})
	}
	if text, code := output(t, "calib", "recalibrate", "--ledger", cifar, "--radii", "0.1", "--map", other, "--population"); code != 2 {
		t.Errorf("a map from a CSV file, for the population: exit code %d, %s", code, text)
	}
}
