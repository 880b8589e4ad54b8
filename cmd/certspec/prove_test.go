package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A proof is written, found finished, verified and replayed; --bytes writes what the digest of the data is of.
func TestProve(t *testing.T) {
	t.Setenv("CERTSPEC_DATA", t.TempDir())
	folder := t.TempDir()
	file, raw := filepath.Join(folder, "a.strength"), filepath.Join(folder, "a.bytes")
	model := []string{"--model", "../../notebooks/models/fmnist-plain", "--engine", "go", "--data",
		"synthetic/test[count=2,channels=grey,resize=28x28]"}
	prove := func(flags ...string) (string, error) {
		return outputOf(t, "prove", append(flags, model...)...)
	}
	text, err := prove("--over", "shift=-1:1", "--out", file, "--bytes", raw)
	if err != nil || !strings.Contains(text, "shift=-1:1, 9 of them") || !strings.Contains(text, "right at every strength") {
		t.Fatalf("%v: %s", err, text)
	}
	again, err := prove("--over", "shift=-1:1", "--out", file, "--json")
	var r struct {
		Claims struct{ Images int }
		Images []struct{ Asked int }
	}
	if err != nil || json.Unmarshal([]byte(again), &r) != nil || r.Claims.Images != 2 || len(r.Images) != 2 || r.Images[0].Asked < 1 {
		t.Errorf("%v: %s", err, again)
	}
	if b, err := os.ReadFile(raw); err != nil || !strings.HasPrefix(string(b), "certspec images 1\n") || len(b) != 18+32+32+2*784 {
		t.Errorf("%v: %d bytes", err, len(b))
	}
	if text, err := outputOf(t, "ledger", "verify", file); err != nil || !strings.Contains(text, "2 images") {
		t.Errorf("%v: %s", err, text)
	}
	if text, err := outputOf(t, "ledger", append([]string{"replay", file}, model...)...); err != nil || !strings.Contains(text, "2 equal") {
		t.Errorf("%v: %s", err, text)
	}
	for flags, want := range map[string]string{
		"--over jpeg=0:10":                     "from 1 to 100",
		"--over fog=1:2":                       "brightness, contrast, jpeg, shift",
		"--over shift=-1:1 --spaced 1":         "at least 2",
		"":                                     "--over",
		"--over shift=-2:2 --out " + file:      "over",
		"--over shift=-1:1 --out ../../go.mod": "go.mod",
		"--over shift=-1:1 --bytes " + folder + "/a/b": "",
	} {
		if text, err := prove(strings.Fields(flags)...); want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s: %v; expected %q: %s", flags, err, want, text)
		}
	}
}
