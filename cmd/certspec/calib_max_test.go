package main

import (
	"bytes"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/certspec/certspec/calib"
	"github.com/certspec/certspec/classifier"
	"github.com/certspec/certspec/dataset"
	"github.com/certspec/certspec/internal/testkit"
	"github.com/certspec/certspec/pixel"
	"github.com/certspec/certspec/rs"
)

// said runs a command line and gives what it says on standard error.
func said(t *testing.T, args ...string) string {
	t.Helper()
	file, err := os.Create(filepath.Join(t.TempDir(), "stderr"))
	if err != nil {
		t.Fatal(err)
	}
	stderr := os.Stderr
	os.Stderr = file
	_, code := output(t, args...)
	os.Stderr = stderr
	file.Close()
	b, err := os.ReadFile(file.Name())
	if err != nil || code != 0 {
		t.Fatalf("%q: exit code %d, %v: %s", args, code, err, b)
	}
	return string(b)
}

// Below one half a ledger does not know the largest mean score: --mode max says of how many images, and its intervals hold it. The scores of a grey
// below .5 are (.4, .35, .25), above (.1, .1, .8): the grey 111 has its noise samples in class 0 (60 % of them), but the largest mean score in class 2.
func TestLargestScoreBelowOneHalf(t *testing.T) {
	shape := pixel.Shape{Height: 1, Width: 1, Channels: 1}
	model := classifier.Func(shape, 3, func(image []float32) []float32 {
		scores := []float64{.4, .35, .25}
		if image[0] >= .5 {
			scores = []float64{.1, .1, .8}
		}
		logits := make([]float32, 3)
		for i, s := range scores {
			logits[i] = float32(math.Log(s))
		}
		return logits
	})
	im := &dataset.Images{Name: "greys", Shape: shape, Digest: "sha256:four", IDs: []int{0, 1, 2, 3}, Pixels: []uint8{0, 111, 240, 255}, Labels: []int{0, 0, 2, 2}}
	path := filepath.Join(t.TempDir(), "three.ledger")
	if _, err := rs.Certify(t.Context(), model, fixedImages{images: im}, rs.Options{Sigma: .25, Rule: rs.Fixed, MaxSamples: 5000, Scores: 100, Ledger: path}); err != nil {
		t.Fatal(err)
	}
	certify := []string{"calib", "certify", "--ledger", path, "--radii", "0,0.2"}
	if text := said(t, certify...); text != "" {
		t.Errorf("the certified class: %q, want no warning", text)
	}
	text := said(t, append(certify, "--mode", "max")...)
	for _, want := range []string{
		"three.ledger at 0: the mean score of the certified class is below 1/2 for 2 of 4 images",
		"three.ledger at 0.2: the mean score of the certified class is below 1/2 for 1 of 3 images",
		"another class may have a larger one",
		"Their intervals hold the largest, their point confidence is that of the certified class",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("%q, want %q", text, want)
		}
	}
	if n := strings.Count(text, "warning: "); n != 2 {
		t.Errorf("%d warnings of two radii: %s", n, text)
	}
	sure := scoredLedger(t) // of two classes, so that the certified class has the larger mean score
	if text := said(t, "calib", "certify", "--ledger", sure, "--radii", "0,0.2", "--mode", "max"); text != "" {
		t.Errorf("no class below 1/2: %q, want no warning", text)
	}

	intervals := filepath.Join(t.TempDir(), "z.csv")
	said(t, "calib", "certify", "--ledger", path, "--radii", "0", "--mode", "max", "--out", intervals)
	b := testkit.Read(t, intervals)
	z, err := calib.ReadCSV(intervals, bytes.NewReader(b))
	if err != nil || len(z.Confidence) != 4 {
		t.Fatalf("%v: %+v", err, z)
	}
	below := .5 * math.Erfc(-(.5-111./255)/.25/math.Sqrt2)
	class, largest := .4*below+.1*(1-below), .25*below+.8*(1-below)
	if class > .3 || largest < .4 {
		t.Fatalf("mean scores %v of the class, %v the largest", class, largest)
	}
	if math.Abs(z.Confidence[1]-max(class, 1./3)) > .02 || z.Lower[1] > largest || z.Upper[1] < largest {
		t.Errorf("confidence %v in [%v, %v], want that of the class, %v, or the least that the largest can be, 1/3, and the largest, %v, in the interval", z.Confidence[1], z.Lower[1], z.Upper[1], class, largest)
	}
}
