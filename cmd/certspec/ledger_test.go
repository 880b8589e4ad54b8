package main

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"image"
	"image/jpeg"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/certspec/certspec/classifier"
	"github.com/certspec/certspec/cmd/certspec/internal/cli"
	ledgercmd "github.com/certspec/certspec/cmd/certspec/ledger"
	mergecmd "github.com/certspec/certspec/cmd/certspec/merge"
	"github.com/certspec/certspec/dataset"
	"github.com/certspec/certspec/internal/testkit"
	"github.com/certspec/certspec/pixel"
	"github.com/certspec/certspec/rs"
)

const oldLedger = "../../rs/testdata/v1-staged.ledger"

func TestLedgerInfo(t *testing.T) {
	text, code := output(t, "ledger", "info", oldLedger, "--json")
	var got ledgercmd.Info
	if err := json.Unmarshal([]byte(text), &got); err != nil || code != 0 {
		t.Fatalf("exit code %d, %v: %s", code, err, text)
	}
	if got.Header.Version != 1 || got.Images != 12 || got.Decided != 12 || got.Looks != 36 || got.Passes != 6900 || !got.Closed || got.Abstained != 9 || got.ACR == nil || got.Torn {
		t.Errorf("%s", text)
	}
	text, code = output(t, "ledger", "info", oldLedger)
	for _, want := range []string{"step, 5 classes of 1×1×1", "greys, 12 images, sha256:greys", "σ = 0.25, grid/1 (sound in floating point)", "derived from model",
		"staged: 100 noise samples choose the class, then at most 3,200 in 6 planned look(s)", "α = 0.001 for each image; union bound", "12 of 12 images decided, 36 looks, 6,900 noise samples, 25 misses",
		"12 images, 9 abstained, average certified radius 0.0037", "sha256:c0b496bc62973d9717e486a591bc700e9afc25d4b4f37cd9b629c31a73826aaf, matches"} {
		if code != 0 || !strings.Contains(text, want) {
			t.Errorf("exit code %d, no %q in\n%s", code, want, text)
		}
	}
	whole := testkit.Read(t, oldLedger)
	cut := filepath.Join(t.TempDir(), "cut")
	os.WriteFile(cut, whole[:bytes.Index(whole, []byte("\n27 2"))-5], 0o666)
	text, code = output(t, "ledger", "info", cut)
	for _, want := range []string{"8 of 12 images decided", "the end of the file was cut off", "none: not closed"} {
		if code != 0 || !strings.Contains(text, want) {
			t.Errorf("exit code %d, no %q in\n%s", code, want, text)
		}
	}
}

// The contract with scripts: exit code 0 only if everything holds.
func TestLedgerVerify(t *testing.T) {
	if text, code := output(t, "ledger", "verify", oldLedger); code != 0 || !strings.Contains(text, "holds: 12 images, 36 looks, 6,900 noise samples, sha256:c0b496bc") {
		t.Errorf("exit code %d: %s", code, text)
	}
	b, _ := os.ReadFile(oldLedger)
	forged := bytes.Replace(b, []byte("0.0371573044\n"), []byte("0.0371573045\n"), 1)
	end := bytes.LastIndex(forged, []byte("sha256 "))
	forged = fmt.Appendf(forged[:end:end], "sha256 %x\n", sha256.Sum256(forged[:end]))
	path := filepath.Join(t.TempDir(), "forged")
	os.WriteFile(path, forged, 0o666)
	text, code := output(t, "ledger", "verify", path, oldLedger, "--json")
	lines := strings.Split(text, "\n")
	var first, second ledgercmd.Verified
	if err := json.Unmarshal([]byte(lines[0]), &first); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal([]byte(lines[1]), &second); err != nil {
		t.Fatal(err)
	}
	if code != cli.ExitFailed || first.OK || first.Line != 50 || !strings.Contains(first.Reason, "radius 0.0371573045") || !second.OK || second.Looks != 36 {
		t.Errorf("exit code %d: %s", code, text)
	}
	for _, file := range []string{"ledger_test.go", path + ".missing", os.Args[0]} {
		if _, code := output(t, "ledger", "verify", file); code != cli.ExitFailed {
			t.Errorf("%s: exit code %d", file, code)
		}
	}
}

// shadesOfGrey are certified by a toy model, whole or in part.
func shadesOfGrey(t *testing.T, shard rs.Shard) string {
	t.Helper()
	images := &dataset.Images{Name: "greys", Shape: pixel.Shape{Height: 1, Width: 1, Channels: 1}, Digest: "sha256:greys"}
	for i := range 9 {
		images.IDs, images.Labels, images.Pixels = append(images.IDs, i), append(images.Labels, i%3), append(images.Pixels, uint8(28*i))
	}
	path := filepath.Join(t.TempDir(), fmt.Sprintf("%d.ledger", shard.Index))
	_, err := rs.Certify(t.Context(), classifier.Step{Shape: images.Shape, Thresholds: []float64{.3, .6}}, fixedImages{images},
		rs.Options{Sigma: .25, MaxSamples: 800, Shard: shard, Ledger: path})
	if err != nil {
		t.Fatal(err)
	}
	return path
}

func TestLedgerMergeCanonicalExport(t *testing.T) {
	whole := shadesOfGrey(t, rs.Shard{})
	want, _ := os.ReadFile(whole)
	shards := []string{shadesOfGrey(t, rs.Shard{Index: 1, Count: 2}), shadesOfGrey(t, rs.Shard{Index: 0, Count: 2})}
	out := filepath.Join(t.TempDir(), "merged")
	text, code := output(t, append([]string{"merge", "--json", "-o", out}, shards...)...)
	var merged mergecmd.Merged
	if err := json.Unmarshal([]byte(text), &merged); err != nil || code != 0 || !merged.Complete || merged.Images != 9 || merged.Ledger != out {
		t.Errorf("exit code %d, %v: %s", code, err, text)
	}
	if got, _ := os.ReadFile(out); !bytes.Equal(got, want) {
		t.Errorf("merged\n%s\nwant\n%s", got, want)
	}
	if _, code := output(t, "merge", "-o", out+"2", shards[0]); code != cli.ExitFailed {
		t.Errorf("a missing shard: exit code %d", code)
	}
	if text, code := output(t, "merge", "--partial", "-o", out+"2", shards[0]); code != 0 || !strings.Contains(text, "unfinished: 1 ledgers, 4 of 9 images") {
		t.Errorf("in part: exit code %d: %s", code, text)
	}
	if text, code := output(t, "ledger", "export", "--format", "canonical", "-o", out+"3", out+"2"); code != 0 || !strings.Contains(text, "unfinished") {
		t.Errorf("canonical: exit code %d: %s", code, text)
	}
	if text, code := output(t, "ledger", "export", "--format", "canonical", "-o", out+"4", out); code != 0 || !strings.Contains(text, ": closed") {
		t.Errorf("canonical: exit code %d: %s", code, text)
	}
	if got, _ := os.ReadFile(out + "4"); !bytes.Equal(got, want) {
		t.Error("a closed ledger is not its canonical form")
	}

	// What is exported has the metrics of the ledger.
	table := filepath.Join(t.TempDir(), "table.tsv")
	if _, code := output(t, "ledger", "export", whole, "-o", table); code != 0 {
		t.Fatalf("export: exit code %d", code)
	}
	ours, _ := output(t, "ledger", "metrics", whole, "--json", "--radii", "0,0.1,0.2")
	theirs, _ := output(t, "ledger", "metrics", table, "--json", "--radii", "0,0.1,0.2")
	figures := func(text string) string {
		from, to := strings.Index(text, `"rows"`), strings.Index(text, `"warnings"`)
		if from < 0 || to < from {
			t.Fatalf("no figures in %s", text)
		}
		return text[from:to]
	}
	if figures(ours) != figures(theirs) || !strings.Contains(ours, `"rows":9`) {
		t.Errorf("metrics of the ledger\n%sof its table\n%s", ours, theirs)
	}
	text, code = output(t, "ledger", "export", whole, "--format", "csv")
	if lines := strings.Split(text, "\n"); code != 0 || len(lines) != 11 || !strings.HasPrefix(lines[0], "idx,label,predict,radius,correct,time,") || strings.HasPrefix(lines[1], "0,0,0,0.0,") {
		t.Errorf("exit code %d: %s", code, text)
	}
}

func TestLedgerReplay(t *testing.T) {
	dir := pictures(t, true, ".", ".")
	path := filepath.Join(t.TempDir(), "x.ledger")
	common := []string{"--model", trainedModel, "--data", "folder:" + dir + "[resize=28x28]"}
	if _, code := output(t, append([]string{"certify", "--sigma", "0.25", "--n", "200", "--block", "50", "--out", path}, common...)...); code != 0 {
		t.Fatalf("certify: exit code %d", code)
	}
	var got rs.Replayed
	replay := func(file string, flags ...string) int {
		text, code := output(t, append(append([]string{"ledger", "replay", file, "--json"}, common...), flags...)...)
		got = rs.Replayed{}
		if err := json.Unmarshal([]byte(text), &got); code != cli.ExitUsage && err != nil {
			t.Fatalf("exit code %d, %v: %s", code, err, text)
		}
		return code
	}
	if code := replay(path); code != 0 || got.Images != 2 || got.Blocks == 0 || got.EqualBlocks != got.Blocks || !got.EqualIdentity {
		t.Errorf("exit code %d: %+v", code, got)
	}
	if code := replay(path, "--images", "1", "--blocks", "2"); code != 0 || got.Images != 1 || got.Looks != 1 || got.Blocks != 2 {
		t.Errorf("exit code %d: %+v", code, got)
	}
	if code := replay(path, "--images", "0"); code != cli.ExitUsage {
		t.Errorf("no images: exit code %d", code)
	}
	run, err := rs.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	b, _ := os.ReadFile(path)
	cut := bytes.Index(b, []byte("\nclaims"))
	lines := strings.Split(string(b[:cut]), "\n")
	lines[1] = fmt.Sprintf("%d -1 0 2 1 9:99", run.Rows[0].Image) // instead of what the model said
	forged := filepath.Join(t.TempDir(), "forged")
	os.WriteFile(forged, []byte(strings.Join(lines[:2], "\n")+"\n"), 0o666)
	if code := replay(forged); code != cli.ExitFailed || len(got.Flips) != 1 || got.Flips[0].Samples < 1 || got.EqualBlocks != 0 {
		t.Errorf("forged: exit code %d: %+v", code, got)
	}
	other := strings.Replace(strings.Join(lines, "\n")+"\n", `"engine_version":"`, `"engine_version":"older `, 1)
	os.WriteFile(forged, []byte(other), 0o666)
	if code := replay(forged); code != 0 || len(got.Flips) != 1 || got.EqualIdentity {
		t.Errorf("another engine: exit code %d: %+v", code, got)
	}
}

// A ledger of JPEG pictures that does not say how they were decoded is of a version that took Go's decoder, and so does what
// repeats it or goes on with it.
func TestLedgerOfEarlierDecoder(t *testing.T) {
	if !strings.HasPrefix(runtime.Version(), "go1.26") {
		t.Skip("only Go 1.26 has the decoder of earlier versions")
	}
	dir := t.TempDir()
	rough := image.NewRGBA(image.Rect(0, 0, 32, 32))
	for i := range rough.Pix {
		rough.Pix[i] = uint8(i * i * 31)
	}
	for _, class := range []string{"a", "b"} {
		os.Mkdir(filepath.Join(dir, class), 0o755)
		file, err := os.Create(filepath.Join(dir, class, "1.jpg"))
		if err == nil {
			err = errors.Join(jpeg.Encode(file, rough, nil), file.Close())
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	path := filepath.Join(t.TempDir(), "x.ledger")
	run := func(verb, data string) int {
		args := []string{"certify", "--sigma", "0.25", "--n", "100", "--block", "50", "--out", path}
		if verb == "replay" {
			args = []string{"ledger", "replay", path}
		}
		_, code := output(t, append(args, "--model", "../../notebooks/models/cifar10-resnet20-s025", "--data", data)...)
		return code
	}
	if code := run("certify", "folder:"+dir+"[jpeg=go1.26]"); code != 0 {
		t.Fatalf("certify: exit code %d", code)
	}
	text, err := os.ReadFile(path)
	if err != nil || !bytes.Contains(text, []byte("[jpeg=go1.26]")) {
		t.Fatalf("%.2000s, %v", text, err)
	}
	text = bytes.Replace(text[:bytes.Index(text, []byte("\nclaims"))+1], []byte("[jpeg=go1.26]"), nil, 1)
	testkit.Write(t, text, path)
	if code := run("replay", "folder:"+dir); code != 0 {
		t.Errorf("replay: exit code %d", code)
	}
	if code := run("replay", "folder:"+dir+"[jpeg=libjpeg-turbo]"); code == 0 {
		t.Error("other pixels are replayed")
	}
	if code := run("certify", "folder:"+dir); code != 0 {
		t.Errorf("going on: exit code %d", code)
	}
	if after, _ := os.ReadFile(path); !bytes.HasPrefix(after, text) || !bytes.Contains(after, []byte("\nclaims")) {
		t.Errorf("went on as\n%s", after)
	}
}

func TestLedgerWrongUse(t *testing.T) {
	for _, args := range [][]string{
		{"info"}, {"info", "a", "b"}, {"verify"}, {"merge", "a"}, {"merge", "-o", "x"}, {"export", "a", "--format", "canonical"}, {"export", oldLedger, "--format", "xlsx"},
		{"replay", oldLedger}, {"replay", oldLedger, "--data", "synthetic/test", "--images", "1", "--image", "2"}, {"burn"},
	} {
		if text, code := output(t, append([]string{"ledger"}, args...)...); code != cli.ExitUsage || text != "" {
			t.Errorf("%q: exit code %d, output %q", args, code, text)
		}
	}
}

// What a ledger does not state follows from its counts; wrong questions are refused in the words of the command line.
func TestLedgerQuery(t *testing.T) {
	claims := filepath.Join(t.TempDir(), "claims.txt")
	text, code := output(t, "ledger", "query", oldLedger, "--top-k", "2", "--two-sided", "--budget", "0.1", "--by-class", "-o", claims)
	for _, want := range []string{"the label is among the 2 most probable classes", "0.1 of α bounds", "certified accuracy at 0:", "0.1 on average: at least", "class     0 at 0: at least"} {
		if code != 0 || !strings.Contains(text, want) {
			t.Errorf("exit code %d, no %q in\n%s", code, want, text)
		}
	}
	if b, err := os.ReadFile(claims); err != nil || !strings.HasPrefix(string(b), "certspec-claims 2 sha256:c0b496bc") || !strings.Contains(string(b), "\nquestion top-k 2 share 0.1 norm l2\nasked radii 0,0.25,0.5,0.75,1 budgets 0.1:0.001 classes 0.001:0,0.25,0.5,0.75,1\nclaims 12\n") {
		t.Errorf("%v: %s", err, b)
	}
	text, code = output(t, "ledger", "query", oldLedger, "--linf", "--json")
	var got ledgercmd.Queried
	if err := json.Unmarshal([]byte(text), &got); err != nil || code != 0 || len(got.Claims) != 12 || !got.LInf || len(got.Accuracy) != 3 {
		t.Errorf("exit code %d, %v: %s", code, err, text)
	}
	for _, args := range [][]string{{"--share", "0.2"}, {"--two-sided", "--share", "0"}, {"--two-sided", "--share", "1"}, {"--level", "0.01"}} {
		if text, code := output(t, append([]string{"ledger", "query", oldLedger}, args...)...); code != 2 {
			t.Errorf("%v: exit code %d, %s", args, code, text)
		}
	}
	for _, args := range [][]string{{"--top-k", "5"}, {"--top-k", "0"}, {"--budget", "-1"}, {"--by-class", "--level", "2"}} {
		if text, code := output(t, append([]string{"ledger", "query", oldLedger}, args...)...); code != 1 {
			t.Errorf("%v: exit code %d, %s", args, code, text)
		}
	}
}

// A verdict is attested, and tables of other programs are written, in the words of the command line.
func TestLedgerAttest(t *testing.T) {
	text, code := output(t, "ledger", "attest", oldLedger, "--at-least", "0=0.25", "--at-least", "0.1=1", "--predicate",
		"eval-result", "--date", "2026-01-31T13:00:00+01:00")
	for _, want := range []string{`"_type":"https://in-toto.io/Statement/v1"`, `"evaluatedAt":"2026-01-31T12:00:00Z"`,
		`"threshold":"1","passed":false`, `"sampleSize":10`} {
		if code != 0 || !strings.Contains(text, want) {
			t.Errorf("exit code %d, no %q in\n%s", code, want, text)
		}
	}
	for _, args := range [][]string{{}, {"--at-least", "0.25"}, {"--at-least", "0=0.5", "--date", "today"}} {
		if text, code := output(t, append([]string{"ledger", "attest", oldLedger}, args...)...); code != 2 {
			t.Errorf("%v: exit code %d, %s", args, code, text)
		}
	}
	for _, args := range [][]string{{"--at-least", "0=1.5"}, {"--at-least", "-1=0.5"}, {"--at-least", "0=1e-3"},
		{"--at-least", "0=0.5", "--level", "0.5"}, {"--at-least", "0=0.5", "--assurance", "sure"}} {
		if text, code := output(t, append([]string{"ledger", "attest", oldLedger}, args...)...); code != 1 {
			t.Errorf("%v: exit code %d, %s", args, code, text)
		}
	}
	text, code = output(t, "ledger", "export", oldLedger, "--format", "verona")
	if lines := strings.Split(text, "\n"); code != 0 || len(lines) != 12 || lines[0] !=
		",network_path,image_id,original_label,tmp_path,epsilon_value,smallest_sat_value,total_time,verifier" {
		t.Errorf("exit code %d: %s", code, text)
	}
	text, code = output(t, "ledger", "export", oldLedger, "--format", "eval-results", "--benchmark", "me/set:test")
	if code != 0 || !strings.HasPrefix(text, "- dataset:\n    id: me/set\n    task_id: test\n  value: ") {
		t.Errorf("exit code %d: %s", code, text)
	}
	if _, code := output(t, "ledger", "export", oldLedger, "--format", "eval-results"); code != 2 {
		t.Errorf("no benchmark: exit code %d", code)
	}
}
