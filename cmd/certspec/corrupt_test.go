package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	corruptcmd "github.com/certspec/certspec/cmd/certspec/corrupt"
	"github.com/certspec/certspec/corrupt"
	"github.com/certspec/certspec/dataset"

	"github.com/certspec/certspec/cmd/certspec/internal/cli"
	"github.com/certspec/certspec/internal/npy"
	"github.com/certspec/certspec/internal/testkit"
)

func TestCorruptList(t *testing.T) {
	out, err := outputOf(t, "corrupt", "list", "--json")
	if err != nil {
		t.Fatal(err)
	}
	var list []struct {
		Name, Family, Group, Description string
		Severities                       []float64
	}
	if err := json.Unmarshal([]byte(out), &list); err != nil {
		t.Fatal(err)
	}
	if len(list) != 30 || list[0].Name != "gaussian_noise" || list[0].Family != "C" || list[0].Group != "High" || len(list[0].Severities) != 5 {
		t.Errorf("%d corruptions, the first %+v", len(list), list[0])
	}
	if out, err := outputOf(t, "corrupt", "list"); err != nil || strings.Count(out, "\n") != 31 {
		t.Errorf("%v, %s", err, out)
	}
}

// apply, make and the data set on the fly give the same bytes.
func TestCorruptApplyAndMake(t *testing.T) {
	dir := t.TempDir()
	d, err := dataset.Open("synthetic/test[max_index=6]")
	if err != nil {
		t.Fatal(err)
	}
	images, err := d.Load(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	in, out, set := filepath.Join(dir, "in.npy"), filepath.Join(dir, "out.npy"), filepath.Join(dir, "set")
	var file bytes.Buffer
	if err := npy.WriteHeader(&file, "|u1", 6, 32, 32, 3); err != nil {
		t.Fatal(err)
	}
	file.Write(images.Pixels)
	testkit.Write(t, file.Bytes(), in)
	text, err := outputOf(t, "corrupt", "apply", "--name", "fog", "--severity", "3", "--seed", "1", "--set", "synthetic", "--in", in, "--out", out, "--json")
	if err != nil {
		t.Fatal(err)
	}
	var applied corruptcmd.Applied
	if err := json.Unmarshal([]byte(text), &applied); err != nil || applied.Images != 6 || applied.Severity != 3 || applied.Key.Seed != 1 {
		t.Errorf("%s, %v", text, err)
	}
	if _, err := outputOf(t, "corrupt", "make", "--data", "synthetic/test", "--max-index", "6", "--name", "fog", "--seed", "1", "--out", set); err != nil {
		t.Fatal(err)
	}
	lazy, err := corrupt.Dataset(d, corrupt.Setting{Name: "fog", Severity: 3}, 1)
	if err != nil {
		t.Fatal(err)
	}
	fly, err := lazy.Load(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	one, err := dataset.ReadArray(t.Context(), out)
	if err != nil {
		t.Fatal(err)
	}
	all, err := dataset.ReadArray(t.Context(), filepath.Join(set, "fog.npy"))
	if err != nil {
		t.Fatal(err)
	}
	block := all.Pixels[2*len(one.Pixels) : 3*len(one.Pixels)]
	if !bytes.Equal(one.Pixels, block) || !bytes.Equal(one.Pixels, fly.Pixels) || bytes.Equal(one.Pixels, images.Pixels) {
		t.Error("apply, make and the data set on the fly differ, or change nothing")
	}
	text, err = outputOf(t, "corrupt", "make", "--data", "synthetic/test", "--max-index", "6", "--family", "F", "--fc", "2,3", "--alpha", "0.5", "--seed", "1", "--out", filepath.Join(dir, "F"))
	if err != nil || !strings.Contains(text, "fourier_fc2_a0.5.npy") || strings.Count(text, "\n") != 2 {
		t.Errorf("%v, %s", err, text)
	}
}

func TestCorruptWrongUse(t *testing.T) {
	in := filepath.Join(t.TempDir(), "in.npy")
	var file bytes.Buffer
	if err := npy.WriteHeader(&file, "|u1", 1, 8, 8, 1); err != nil {
		t.Fatal(err)
	}
	file.Write(make([]byte, 64))
	testkit.Write(t, file.Bytes(), in)
	out := filepath.Join(t.TempDir(), "out.npy")
	for _, c := range []struct {
		args, want string
	}{
		{"apply --name fogg --severity 1 --in IN --out OUT", "did you mean fog"},
		{"apply --name fog --in IN --out OUT", "--severity is missing"},
		{"apply --name fog --severity 6 --in IN --out OUT", "severity 6"},
		{"apply --name fog --severity 1 --in IN --out OUT", "at least 16 pixels"},
		{"apply --name saturate --severity 1 --in IN --out OUT", "grey images"},
		{"apply --name fourier --fc 3 --alpha 1 --in IN --out OUT", "--eps is missing"},
		{"apply --name fog --severity 1 --first -1 --in IN --out OUT", "--first -1"},
		{"make --data synthetic/test --out OUT", "nothing to make"},
		{"make --data synthetic/test --out OUT --family D", "no such family"},
		{"make --data synthetic/test --out OUT --name frogs", "did you mean"},
		{"make --data synthetic/test[count=5] --out OUT --family F --fc 0", "fc 0"},
	} {
		args := strings.Fields(c.args)
		for i, arg := range args {
			args[i] = strings.NewReplacer("IN", in, "OUT", out).Replace(arg) // paths may hold spaces
		}
		_, err := outputOf(t, "corrupt", args...)
		var usage cli.UsageError
		if !errors.As(err, &usage) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v; expected a wrong use with %q", c.args, err, c.want)
		}
	}
	if _, err := os.Stat(out); !errors.Is(err, os.ErrNotExist) {
		t.Error("a refused command leaves something behind")
	}
}
