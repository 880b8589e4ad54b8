package main

import (
	"bytes"
	"encoding/json"
	"os"
	"runtime/debug"
	"slices"
	"testing"
)

// The bill names every module that the program itself says it has.
func TestWrite(t *testing.T) {
	var out bytes.Buffer
	if err := write(&out, os.Args[0]); err != nil {
		t.Fatal(err)
	}
	var b bill
	if err := json.Unmarshal(out.Bytes(), &b); err != nil || b.Format != "CycloneDX" || b.Components[0].Name != "std" {
		t.Fatalf("%v: %s", err, &out)
	}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		t.Skip("this test binary has no build information")
	}
	for _, m := range info.Deps {
		if !slices.ContainsFunc(b.Components, func(c component) bool { return c.Name == m.Path && c.Version == m.Version }) {
			t.Errorf("no %s %s", m.Path, m.Version)
		}
	}
	if err := write(&out, "main.go"); err == nil {
		t.Error("a text file has a bill")
	}
}
