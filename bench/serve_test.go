package main

import (
	"encoding/json"
	"io"
	"strings"
	"testing"
)

func TestServe(t *testing.T) {
	cmd := workerCommand()
	var out strings.Builder
	cmd.SetOut(&out)
	cmd.SetIn(strings.NewReader(`{"prepare":{"task":"admm","net":"","batch":2000}}` + "\n" + `{"run":0.001}` + "\n"))
	cmd.SetArgs(nil)
	if err := cmd.ExecuteContext(t.Context()); err != nil {
		t.Fatal(err)
	}
	answers := json.NewDecoder(strings.NewReader(out.String()))
	var a answer
	for range 3 {
		a = answer{}
		if err := answers.Decode(&a); err != nil {
			t.Fatalf("%v: %s", err, &out)
		}
	}
	if a.Units < admmSteps || a.Seconds <= 0 || answers.Decode(&a) != io.EOF {
		t.Errorf("%+v: %s", a, &out)
	}
	for _, request := range []string{`{"prepare":{"task":"ece"}}`, `{"run":1}`, `{"prepare":{"task":"certify","net":"none","batch":1}}`} {
		cmd.SetIn(strings.NewReader(request))
		if err := cmd.ExecuteContext(t.Context()); err == nil {
			t.Errorf("%s: no error", request)
		}
	}
}
