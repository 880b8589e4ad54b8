// Package attest writes statements of the in-toto attestation framework, version 1, about closed ledgers and gates:
// what was tested, against which thresholds, with which verdict. Signing is left to other tools.
//
// A statement holds nothing but what follows from the ledger, apart from thresholds, level, date and assurance. So
// certcheck derives it again, byte for byte.
package attest

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"math/big"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/certspec/certspec/internal/choice"
	"github.com/certspec/certspec/internal/rs/gate"
	"github.com/certspec/certspec/internal/rs/query"
)

// Kind is the type of a predicate.
type Kind string

// The kinds: test result, and eval result as its draft stands.
const (
	TestResult Kind = "test-result"
	EvalResult Kind = "eval-result"
)

// extension names what the predicates have no field for.
const extension = "https://github.com/certspec/certspec/claims/v1"

// Assurances are the levels of assurance of the draft of eval-result.
func Assurances() []string {
	return []string{"self_attested", "third_party", "reproduced", "enclave_attested"}
}

// Threshold asks for a certified accuracy at a radius.
type Threshold struct {
	Radius   float64
	Accuracy string // a decimal number in [0, 1], as it is to stand in the statement
}

// Request says what is attested.
type Request struct {
	Kind       Kind
	Thresholds []Threshold
	Level      float64   // all verdicts hold together, but with probability level
	Assurance  string    // one of Assurances
	Date       time.Time // of the evaluation; for EvalResult
}

// digestSet is the digest of a resource, by algorithm.
type digestSet struct {
	SHA256 string `json:"sha256"`
}

type resource struct {
	Name   string    `json:"name"`
	Digest digestSet `json:"digest"`
}

type statement struct {
	Type          string     `json:"_type"`
	Subject       []resource `json:"subject"`
	PredicateType string     `json:"predicateType"`
	Predicate     any        `json:"predicate"`
}

// claims is the extension: what stands behind the verdicts.
type claims struct {
	Assurance  string  `json:"assuranceLevel"`
	Level      string  `json:"level"`
	SampleSize int     `json:"sampleSize"`
	Sigma      string  `json:"sigma"`
	Alpha      string  `json:"alpha"`
	Rule       string  `json:"rule"`
	Claims     []claim `json:"claims"`
}

type claim struct {
	Metric     string `json:"metric"`
	Radius     string `json:"radius"`
	Comparator string `json:"comparator"`
	Threshold  string `json:"threshold"`
	Certified  int    `json:"certified"` // images that are certified as their label
	False      int    `json:"false"`     // of these claims, that may be false
	Passed     bool   `json:"passed"`
}

const metric = "certified accuracy"

// Ledger is the statement on a closed ledger. With N labelled images, of which c are certified as their label at the
// radius, and f of whose claims may be false at the level, a threshold passes where c − f ≥ threshold·N.
//
// Errors: those of query.Ask; no thresholds, or some out of range; a level outside (0, ½).
func Ledger(a *query.Answer, path string, r Request) ([]byte, error) {
	if len(r.Thresholds) == 0 {
		return nil, fmt.Errorf("no threshold: expected at least one, such as 0.25=0.3")
	}
	if !slices.Contains(Assurances(), r.Assurance) {
		return nil, fmt.Errorf("an assurance of %q: expected one of %s", r.Assurance, choice.List(Assurances()))
	}
	set, err := a.Under(0, r.Level)
	if err != nil {
		return nil, err
	}
	h := a.Header
	c := claims{Assurance: r.Assurance, Level: decimal(r.Level), SampleSize: set.Images, Sigma: decimal(h.Sigma),
		Alpha: decimal(h.Alpha), Rule: string(h.Rule.Name)}
	var passed, failed []string
	for _, t := range r.Thresholds {
		least, err := fraction(t.Accuracy)
		if err != nil {
			return nil, err
		}
		if !(t.Radius >= 0) {
			return nil, fmt.Errorf("the radius is %v: expected a number of at least 0", t.Radius)
		}
		at := a.Rows().CertifiedAccuracy(t.Radius)[0]
		one := claim{metric, decimal(t.Radius), ">=", t.Accuracy, at.Count, set.False, false}
		one.Passed = least.Mul(least, big.NewRat(int64(set.Images), 1)).
			Cmp(big.NewRat(int64(max(0, at.Count-set.False)), 1)) <= 0
		c.Claims = append(c.Claims, one)
		name := fmt.Sprintf("%s >= %s at l2 radius %s, level %s", metric, t.Accuracy, one.Radius, c.Level)
		if one.Passed {
			passed = append(passed, name)
		} else {
			failed = append(failed, name)
		}
	}
	subject := []resource{named("model", h.Model.Name, h.Model.Identity.Weights),
		named("data", h.Data.Name, h.Data.Digest)}
	if r.Kind == TestResult {
		return results("ledger", path, subject, passed, failed, c)
	}
	record, err := file("ledger", path)
	if err != nil {
		return nil, err
	}
	type result struct {
		Metric     string `json:"metric"`
		Comparator string `json:"comparator"`
		Threshold  string `json:"threshold"`
		Passed     bool   `json:"passed"`
	}
	var short []result
	for _, one := range c.Claims {
		short = append(short, result{fmt.Sprintf("%s at l2 radius %s, level %s", metric, one.Radius, c.Level),
			one.Comparator, one.Threshold, one.Passed})
	}
	type commitment struct {
		Algorithm string `json:"alg"`
		Value     string `json:"value"`
		Salted    bool   `json:"salted"`
	}
	type tool struct {
		Name    string `json:"name"`
		Version string `json:"version"`
	}
	return encode(statement{Subject: append(subject, record), PredicateType: typeOf(EvalResult), Predicate: struct {
		Verifier struct {
			ID string `json:"id"`
		} `json:"verifier"`
		Date        string                `json:"evaluatedAt"`
		Suite       tool                  `json:"suite"`
		Claims      []result              `json:"claims"`
		SampleSize  int                   `json:"sampleSize"`
		Commitments map[string]commitment `json:"commitments"`
		Assurance   string                `json:"assuranceLevel"`
		Profile     string                `json:"subjectProfile"`
		Harness     tool                  `json:"harness"`
		Extension   claims                `json:"https://github.com/certspec/certspec/claims/v1"`
	}{
		Verifier: struct {
			ID string `json:"id"`
		}{"https://github.com/certspec/certspec"},
		Date: r.Date.UTC().Format(time.RFC3339), Suite: tool{metric, "1"}, Claims: short, SampleSize: c.SampleSize,
		Commitments: map[string]commitment{
			"model":   {"sha256", subject[0].Digest.SHA256, false},
			"dataset": {"sha256", subject[1].Digest.SHA256, false},
		},
		Assurance: c.Assurance, Profile: "public-model", Harness: tool{"certspec", h.Program.Version}, Extension: c,
	}})
}

// Gate is the test result of a gate, whose record is a file; with groups there is a test for each that is decided.
//
// Errors: no verdict, no record.
func Gate(out gate.Outcome, path string) ([]byte, error) {
	if out.Verdict == gate.Undecided {
		return nil, fmt.Errorf("the gate is undecided: there is nothing to attest")
	}
	h := out.Header
	var passed, failed []string
	add := func(of string, verdict gate.Verdict) {
		name := fmt.Sprintf("certified accuracy at l2 radius %s%s fell by at most %s, level %s", decimal(h.Radius), of,
			decimal(h.Drop), decimal(h.Level))
		switch verdict {
		case gate.Pass:
			passed = append(passed, name)
		case gate.Fail:
			failed = append(failed, name)
		}
	}
	if h.Groups == nil {
		add("", out.Verdict)
	}
	for _, g := range out.Tested {
		add(fmt.Sprintf(" in %s %s", h.Groups.By, g.Name), g.Verdict)
	}
	return results("record", path, []resource{named("model", h.New.Name, h.New.Identity.Weights),
		named("old model", h.Old.Name, h.Old.Identity.Weights), named("data", h.Data, h.Digest)}, passed, failed, nil)
}

// results is a test result on a ledger or record, which is its configuration, too.
func results(kind, path string, subject []resource, passed, failed []string, more any) ([]byte, error) {
	record, err := file(kind, path)
	if err != nil {
		return nil, err
	}
	p := struct {
		Result        string     `json:"result"`
		Configuration []resource `json:"configuration"`
		Passed        []string   `json:"passedTests"`
		Failed        []string   `json:"failedTests"`
		Extension     any        `json:"https://github.com/certspec/certspec/claims/v1,omitempty"`
	}{"PASSED", []resource{record}, append([]string{}, passed...), append([]string{}, failed...), more}
	if len(failed) > 0 {
		p.Result = "FAILED"
	}
	return encode(statement{Subject: append(subject, record), PredicateType: typeOf(TestResult), Predicate: p})
}

func typeOf(k Kind) string { return "https://in-toto.io/attestation/" + string(k) + "/v0.1" }

func encode(s statement) ([]byte, error) {
	s.Type = "https://in-toto.io/Statement/v1"
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	err := e.Encode(s)
	return b.Bytes(), err
}

var digest = regexp.MustCompile(`^sha256:([0-9a-f]{64})$`)

// named is a model or a data set by its digest. An identity that is no single digest counts by the digest of its text.
func named(kind, name, identity string) resource {
	if m := digest.FindStringSubmatch(identity); m != nil {
		return resource{kind + " " + name, digestSet{m[1]}}
	}
	return resource{"identity of " + kind + " " + name, sum([]byte(identity))}
}

func sum(data []byte) digestSet {
	s := sha256.Sum256(data)
	return digestSet{hex.EncodeToString(s[:])}
}

func file(kind, path string) (resource, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return resource{}, err
	}
	return resource{kind, sum(data)}, nil
}

func decimal(x float64) string { return strconv.FormatFloat(x, 'f', -1, 64) }

var share = regexp.MustCompile(`^(0|1|0\.[0-9]{1,15}|1\.0{1,15})$`)

// fraction reads a threshold in its decimal form.
func fraction(text string) (*big.Rat, error) {
	if !share.MatchString(text) {
		return nil, fmt.Errorf("the threshold is %q: expected a decimal number from 0 to 1, such as 0.35", text)
	}
	r, _ := new(big.Rat).SetString(strings.TrimRight(text, "."))
	return r, nil
}
