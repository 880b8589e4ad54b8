package main

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/certspec/certspec/internal/testkit"
)

// The page on ONNX files has a line for each family, as the results say.
func TestFamiliesOfThePage(t *testing.T) {
	data := testkit.Read(t, "results/exporters.json")
	var of exports
	if err := json.Unmarshal(data, &of); err != nil {
		t.Fatal(err)
	}
	var lines []string
	for i := 0; i < len(of.Rows); i += 2 {
		a, b := of.Rows[i], of.Rows[i+1]
		if a.Error != "" || a.Exporter != "dynamo" || b.Family != a.Family || b.Exporter != "TorchScript" {
			t.Fatalf("%+v, %+v", a, b)
		}
		files := "both"
		if b.Error != "" {
			files, b = "dynamo", a
		}
		if a.Certify != b.Certify || a.Bounds != b.Bounds {
			t.Fatalf("%+v, %+v", a, b)
		}
		layers := a.Layers
		if b.Layers != layers {
			layers += ", " + b.Layers
		}
		lines = append(lines, fmt.Sprintf("| %s, `%s` | %s | %s | %s | %s |", a.Family, a.Network, files, a.Certify,
			layers, a.Bounds))
	}
	page := testkit.Read(t, "../docs/onnx.md")
	if want := strings.Join(lines, "\n"); len(lines) != 10 || !strings.Contains(string(page), want) {
		t.Errorf("docs/onnx.md has not the lines\n%s", want)
	}
}
