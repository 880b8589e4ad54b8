//go:build external

package external

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/certspec/certspec/internal/pyenv"
	"github.com/certspec/certspec/internal/rs/attest"
	"github.com/certspec/certspec/internal/rs/query"
	"github.com/certspec/certspec/internal/testkit"
)

// The bindings of in-toto read our statements, and the lines of the page sign them; what was altered is refused.
func TestAttestation(t *testing.T) {
	page := testkit.Read(t, "../../docs/attestation.md")
	_, rest, _ := strings.Cut(string(page), "```python\n")
	lines, _, found := strings.Cut(rest, "```")
	if !found {
		t.Fatal("the page has no lines in Python")
	}
	program := environment(t, pyenv.Attestation)
	ledger := "../../rs/testdata/v1-staged.ledger"
	a, err := query.Ask(t.Context(), ledger, query.Question{TopK: 1})
	if err != nil {
		t.Fatal(err)
	}
	for _, kind := range []attest.Kind{attest.TestResult, attest.EvalResult} {
		text, err := attest.Ledger(a, ledger, attest.Request{Kind: kind, Level: 0.001, Assurance: "self_attested",
			Date: time.Now(), Thresholds: []attest.Threshold{{Radius: 0, Accuracy: "0"}, {Radius: 1, Accuracy: "0.9"}}})
		if err != nil {
			t.Fatal(err)
		}
		file := testkit.Write(t, text, t.TempDir(), "statement.json")
		var got struct {
			Payload, Type string
			Subjects      map[string]string
			Result        []any
			Refused       bool
		}
		pythonOf(t, program, "statement, signed = arg, arg + '.dsse'\n"+lines+`
from google.protobuf import json_format
from in_toto_attestation.v1 import statement_pb2
from in_toto_attestation.v1.statement import Statement
from in_toto_attestation.predicates.test_result.v0 import test_result_pb2
s = Statement.copy_from_pb(json_format.Parse(payload, statement_pb2.Statement()))
s.validate()
answer = {"Payload": payload.decode(), "Type": s.pb.predicate_type, "Result": [],
    "Subjects": {x.name: dict(x.digest)["sha256"] for x in s.pb.subject}, "Refused": False}
if "test-result" in s.pb.predicate_type:
    p = json_format.Parse(json.dumps(json.loads(payload)["predicate"]), test_result_pb2.TestResult(), ignore_unknown_fields=True)
    answer["Result"] = [p.result, len(p.configuration), len(p.passed_tests), len(p.failed_tests)]
envelope.payload = payload.replace(b'"false":', b'"falsf":')
try:
    envelope.verify([signer.public_key], threshold=1)
except Exception:
    answer["Refused"] = envelope.payload != payload
`, file, &got)
		if got.Payload != string(text) || !strings.Contains(got.Type, string(kind)) || !got.Refused ||
			len(got.Subjects) != 3 || len(got.Subjects["ledger"]) != 64 {
			t.Errorf("%s: %+v", kind, got)
		}
		if result, _ := json.Marshal(got.Result); kind == attest.TestResult &&
			string(result) != `["FAILED",1,1,1]` && string(result) != `[2,1,1,1]` {
			t.Errorf("a test result of %s", result)
		}
	}
}
