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

// said is what a statement may choose; Extension is its own key.
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
	names, short, claims := map[bool][]string{}, []string{}, []string{}
	must(len(ext.Claims) > 0, "it claims nothing")
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
		names[passed] = append(names[passed], quote("certified accuracy >= "+string(claim.Threshold)+at))
		short = append(short, fmt.Sprintf(`{"metric":%s,"comparator":">=","threshold":"%s","passed":%v}`,
			quote("certified accuracy"+at), claim.Threshold, passed))
		claims = append(claims, fmt.Sprintf(`{"metric":"certified accuracy","radius":"%s","comparator":">=",`+
			`"threshold":"%s","certified":%d,"false":%d,"passed":%v}`, claim.Radius, claim.Threshold, k, wrong, passed))
	}
	must(strings.Contains(" self_attested third_party reproduced enclave_attested ", " "+ext.Assurance+" "),
		"an assurance of %.40q", ext.Assurance)
	extension := fmt.Sprintf(`{"assuranceLevel":%s,"level":"%s","sampleSize":%d,"sigma":"%s","alpha":"%s","rule":%s,`+
		`"claims":[%s]}`, quote(ext.Assurance), ext.Level, n, shortest(c.Sigma), shortest(c.Alpha), quote(c.Rule.Name),
		strings.Join(claims, ","))
	model, modelDigest := resource("model", c.Model.Name, c.Model.Identity.Weights)
	set, setDigest := resource("data", c.Data.Name, c.Data.Digest)
	if kind == "test-result" {
		return results([]string{model, set}, "ledger", data, names, extension)
	}
	date, err := time.Parse(time.RFC3339, s.Predicate.Date)
	must(err == nil && date.UTC().Format(time.RFC3339) == s.Predicate.Date, "the date %.40q", s.Predicate.Date)
	return framed([]string{model, set, digested("ledger", data)}, kind, fmt.Sprintf(
		`{"verifier":{"id":"https://github.com/certspec/certspec"},"evaluatedAt":"%s","suite":{"name":"certified `+
			`accuracy","version":"1"},"claims":[%s],"sampleSize":%d,"commitments":{"dataset":{"alg":"sha256","value":`+
			`"%s","salted":false},"model":{"alg":"sha256","value":"%s","salted":false}},"assuranceLevel":%s,`+
			`"subjectProfile":"public-model","harness":{"name":"certspec","version":%s},%s}`, s.Predicate.Date,
		strings.Join(short, ","), n, setDigest, modelDigest, quote(ext.Assurance), quote(c.Program.Version),
		extensionKey+extension))
}

const extensionKey = `"https://github.com/certspec/certspec/claims/v1":`

// ofGate writes the statement on the record of a gate.
func ofGate(data []byte) string {
	says, reason, _ := verdict(string(data))
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
	passed := strings.HasPrefix(says, "pass")
	must(passed || strings.HasPrefix(says, "fail"), "an undecided gate attests nothing")
	name := quote(fmt.Sprintf("certified accuracy at l2 radius %s fell by at most %s, level %s", shortest(h.Radius),
		shortest(h.Drop), shortest(h.Level)))
	now, _ := resource("model", h.New.Name, h.New.Identity.Weights)
	before, _ := resource("old model", h.Old.Name, h.Old.Identity.Weights)
	set, _ := resource("data", h.Data, h.Digest)
	return results([]string{now, before, set}, "record", data, map[bool][]string{passed: {name}}, "")
}

// results writes a test result.
func results(subjects []string, kind string, data []byte, names map[bool][]string, extension string) string {
	word, record := "PASSED", digested(kind, data)
	if len(names[false]) > 0 {
		word = "FAILED"
	}
	if extension != "" {
		extension = "," + extensionKey + extension
	}
	return framed(append(subjects, record), "test-result", fmt.Sprintf(
		`{"result":"%s","configuration":[%s],"passedTests":[%s],"failedTests":[%s]%s}`, word, record,
		strings.Join(names[true], ","), strings.Join(names[false], ","), extension))
}

// framed writes a statement of its four parts.
func framed(subjects []string, kind, predicate string) string {
	return fmt.Sprintf(`{"_type":"https://in-toto.io/Statement/v1","subject":[%s],"predicateType":`+
		`"https://in-toto.io/attestation/%s/v0.1","predicate":%s}`+"\n", strings.Join(subjects, ","), kind, predicate)
}

// resource is a model or a set by its digest, or where that is no SHA-256 by the digest of the text.
func resource(kind, name, identity string) (text, digest string) {
	digest, found := strings.CutPrefix(identity, "sha256:")
	if raw, err := hex.DecodeString(digest); !found || err != nil || len(raw) != sha256.Size ||
		hex.EncodeToString(raw) != digest {
		kind, digest = "identity of "+kind, fmt.Sprintf("%x", sha256.Sum256([]byte(identity)))
	}
	return fmt.Sprintf(`{"name":%s,"digest":{"sha256":"%s"}}`, quote(kind+" "+name), digest), digest
}

func digested(name string, data []byte) string {
	return fmt.Sprintf(`{"name":"%s","digest":{"sha256":"%x"}}`, name, sha256.Sum256(data))
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
