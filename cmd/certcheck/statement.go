package main

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"math/big"
	"os"
	"strconv"
	"strings"
	"time"
)

// statement derives an in-toto statement that "certspec ledger attest" or "certspec gate --statement" made, from the
// ledger or record that it is about, and compares all bytes.
//
// Free are the thresholds, radii and level, from which the verdicts follow; who stands behind it; and the date. With
// N labelled images, of which k are certified as their label at the radius, and f of whose claims may be false at the
// level, a threshold t passes if k − f ≥ t·N.
func statement(file, of string, out, errs io.Writer) (code int) {
	text, err := os.ReadFile(file)
	data, reason := []byte(nil), ""
	if err == nil {
		data, err = os.ReadFile(of)
	}
	if err != nil {
		reason = err.Error()
	} else {
		reason = stated(string(text), data, nil)
	}
	if reason != "" {
		fmt.Fprintf(errs, "%s: %s\n", plain(file), plain(reason))
		return 1
	}
	_, err = fmt.Fprintf(out, "%s: the statement follows from %s\nNot proven: who stands behind it, and when; a "+
		"signature binds them, and the thresholds and the level to whoever chose them\n", plain(file), plain(of))
	if err != nil {
		fmt.Fprintln(errs, err)
		return 1
	}
	return 0
}

// said holds the optional part of a statement; Extension is its own key.
type said struct {
	Type      string `json:"predicateType"`
	Predicate struct {
		Date      string `json:"evaluatedAt"`
		Extension struct {
			Assurance string `json:"assuranceLevel"`
			Level     json.Number
			Claims    []struct{ Radius, Threshold json.Number }
		} `json:"https://github.com/certspec/certspec/claims/v1"`
	} `json:"predicate"`
}

// stated compares a statement with what follows from a ledger or the record of a gate; c is the ledger, where it was
// checked before.
func stated(text string, data []byte, c *checker) (reason string) {
	defer func() {
		if r := recover(); r != nil {
			reason = fmt.Sprint(r)
		}
	}()
	var s said
	err := json.Unmarshal([]byte(text), &s)
	must(err == nil, "not a statement: %v", err)
	kind := strings.TrimSuffix(strings.TrimPrefix(s.Type, "https://in-toto.io/attestation/"), "/v0.1")
	must(kind == "test-result" || kind == "eval-result", "a predicate of type %.80q", s.Type)
	want := ""
	if bytes.HasPrefix(data, []byte(`{"format":"certspec-gate"`)) {
		must(kind == "test-result", "a gate has a test result")
		want = ofGate(data)
	} else {
		if c == nil {
			c, reason = check(bytes.NewReader(data), 1e9)
			must(reason == "", "the ledger: %s", reason)
		}
		want = c.state(&s, kind, data)
	}
	at := 0
	for at < min(len(text), len(want)) && text[at] == want[at] {
		at++
	}
	must(text == want, "at byte %d %.60q follows, the statement says %.60q", at, want[at:], text[at:])
	return ""
}

// state writes the statement on a ledger.
func (c *checker) state(s *said, kind string, data []byte) string {
	ext := &s.Predicate.Extension
	n := 0
	for _, m := range c.all {
		n += min(1, m.label+1)
	}
	level := exact(ext.Level)
	wrong, q := 0, &query{checker: c}
	must(n > 0 && level.Sign() > 0 && level.Cmp(half) < 0, "no labelled image, or a level of %s", ext.Level)
	for wrong < n && q.tail(wrong+1, n, c.alpha, level) >= 1 { // more than this are false with at most the level
		wrong++
	}
	must(len(ext.Claims) > 0, "it claims nothing")
	must(strings.Contains(" self_attested third_party reproduced enclave_attested ", " "+ext.Assurance+" "),
		"an assurance of %.40q", ext.Assurance)
	names, short, long := map[bool][]string{true: {}, false: {}}, []object{}, []object{}
	for _, claim := range ext.Claims {
		r, t, k := exact(claim.Radius), exact(claim.Threshold), 0
		must(t.Cmp(one) <= 0, "a threshold of %s", claim.Threshold)
		for _, m := range c.all {
			if m.label >= 0 && m.label == m.class && exact(json.Number(strconv.FormatFloat(m.radius, 'f', -1, 64))).Cmp(r) >= 0 {
				k++
			}
		}
		passed := times(t, big.NewRat(int64(n), 1)).Cmp(big.NewRat(int64(max(0, k-wrong)), 1)) <= 0
		at := fmt.Sprintf(" at l2 radius %s, level %s", claim.Radius, ext.Level)
		names[passed] = append(names[passed], "certified accuracy >= "+string(claim.Threshold)+at)
		short = append(short, object{"metric", "certified accuracy" + at, "comparator", ">=",
			"threshold", string(claim.Threshold), "passed", passed})
		long = append(long, object{"metric", "certified accuracy", "radius", string(claim.Radius), "comparator", ">=",
			"threshold", string(claim.Threshold), "certified", k, "false", wrong, "passed", passed})
	}
	extension := object{"assuranceLevel", ext.Assurance, "level", string(ext.Level), "sampleSize", n,
		"sigma", shortest(c.Sigma), "alpha", shortest(c.Alpha), "rule", c.Rule.Name, "claims", long}
	model, modelDigest := resource("model", c.Model.Name, c.Model.Identity.Weights)
	set, setDigest := resource("data", c.Data.Name, c.Data.Digest)
	if kind == "test-result" {
		return results([]object{model, set}, "ledger", data, names, object{extensionKey, extension})
	}
	date, err := time.Parse(time.RFC3339, s.Predicate.Date)
	must(err == nil && date.UTC().Format(time.RFC3339) == s.Predicate.Date, "the date %.40q", s.Predicate.Date)
	commitment := func(digest string) object { return object{"alg", "sha256", "value", digest, "salted", false} }
	return framed([]object{model, set, digested("ledger", data)}, kind, object{
		"verifier", object{"id", "https://github.com/certspec/certspec"},
		"evaluatedAt", s.Predicate.Date,
		"suite", object{"name", "certified accuracy", "version", "1"},
		"claims", short,
		"sampleSize", n,
		"commitments", object{"dataset", commitment(setDigest), "model", commitment(modelDigest)},
		"assuranceLevel", ext.Assurance,
		"subjectProfile", "public-model",
		"harness", object{"name", "certspec", "version", c.Program.Version},
		extensionKey, extension,
	})
}

const extensionKey = "https://github.com/certspec/certspec/claims/v1"

// ofGate writes the statement on the record of a gate.
func ofGate(data []byte) string {
	found, reason, _ := verdict(string(data))
	must(reason == "", "the record: %s", reason)
	type model struct {
		Name     string
		Identity struct{ Weights string }
	}
	var h struct {
		Old, New            model
		Data, Digest        string
		Radius, Drop, Level json.Number
	}
	line, _, _ := bytes.Cut(data, []byte("\n"))
	must(json.Unmarshal(line, &h) == nil, "no record")
	must(found.word != "undecided", "an undecided gate attests nothing")
	now, _ := resource("model", h.New.Name, h.New.Identity.Weights)
	before, _ := resource("old model", h.Old.Name, h.Old.Identity.Weights)
	set, _ := resource("data", h.Data, h.Digest)
	names := map[bool][]string{true: {}, false: {}}
	for _, g := range found.groups {
		of := ""
		if found.by != "" {
			of = fmt.Sprintf(" in %s %s", found.by, g.name)
		}
		if g.word != "undecided" {
			names[g.word == "pass"] = append(names[g.word == "pass"], fmt.Sprintf("certified accuracy at l2 radius %s%s fell "+
				"by at most %s, level %s", shortest(h.Radius), of, shortest(h.Drop), shortest(h.Level)))
		}
	}
	return results([]object{now, before, set}, "record", data, names, nil)
}

// results writes a test result; more has its fields beyond the names of passed and failed tests.
func results(subjects []object, kind string, data []byte, names map[bool][]string, more object) string {
	word, record := "PASSED", digested(kind, data)
	if len(names[false]) > 0 {
		word = "FAILED"
	}
	return framed(append(subjects, record), "test-result", append(object{"result", word,
		"configuration", []object{record}, "passedTests", names[true], "failedTests", names[false]}, more...))
}

// framed writes a statement on subjects.
func framed(subjects []object, kind string, predicate object) string {
	return quote(object{"_type", "https://in-toto.io/Statement/v1", "subject", subjects,
		"predicateType", "https://in-toto.io/attestation/" + kind + "/v0.1", "predicate", predicate}) + "\n"
}

// resource is a model or a set by its digest, or where that is no SHA-256 by the digest of the text.
func resource(kind, name, identity string) (o object, digest string) {
	digest, found := strings.CutPrefix(identity, "sha256:")
	if raw, err := hex.DecodeString(digest); !found || err != nil || len(raw) != sha256.Size ||
		hex.EncodeToString(raw) != digest {
		kind, digest = "identity of "+kind, fmt.Sprintf("%x", sha256.Sum256([]byte(identity)))
	}
	return object{"name", kind + " " + name, "digest", object{"sha256", digest}}, digest
}

func digested(name string, data []byte) object {
	return object{"name", name, "digest", object{"sha256", fmt.Sprintf("%x", sha256.Sum256(data))}}
}

// object is an object of JSON: key, value, key, value, in this order.
type object []any

func (o object) MarshalJSON() ([]byte, error) {
	var parts []string
	for i := 0; i < len(o); i += 2 {
		parts = append(parts, quote(o[i])+":"+quote(o[i+1]))
	}
	return []byte("{" + strings.Join(parts, ",") + "}"), nil
}

// shortest is the decimal form of a header's number.
func shortest(n json.Number) string {
	f, _ := n.Float64()
	return strconv.FormatFloat(f, 'f', -1, 64)
}

// quote is a value in JSON.
func quote(v any) string {
	var b strings.Builder
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	must(e.Encode(v) == nil, "no text")
	return strings.TrimSuffix(b.String(), "\n")
}
