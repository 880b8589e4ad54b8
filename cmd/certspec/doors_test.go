package main

import (
	"bytes"
	"encoding/json"
	"image"
	"image/png"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/mattn/go-shellwords"
	"github.com/spf13/cobra"

	"github.com/certspec/certspec/cmd/certspec/internal/cli"
	"github.com/certspec/certspec/internal/testkit"
)

// The first page has every command once, under one task; the verbs for papers stand there, too.
func TestFirstPageIsByTask(t *testing.T) {
	page, code := output(t, "help")
	if lines := strings.Count(page, "\n"); code != 0 || lines > 40 {
		t.Errorf("exit code %d, %d lines", code, lines)
	}
	last := -1
	for _, task := range []string{"certify", "compare and check", "calibrate", "OOD", "spectra", "corruptions", "train", "papers"} {
		at := strings.Index(page, "\n"+task+" ")
		if at <= last {
			t.Errorf("%s stands at %d, behind %d", task, at, last)
		}
		last = at
	}
	for _, cmd := range root().Commands() {
		if !cmd.IsAvailableCommand() || cmd.Name() == "completion" || cmd.Name() == "help" {
			continue
		}
		if n := len(regexp.MustCompile(`(?m)^.{17}  `+cmd.Name()+` +`).FindAllString(page, -1)); n != 1 {
			t.Errorf("%s stands there %d times", cmd.Name(), n)
		}
	}
	papers := page[strings.Index(page, "\npapers "):]
	for _, name := range []string{"experiment", "adapt", "interpolate", "lines agree", "lines table", "spectral path", "spectral record"} {
		if !strings.Contains(papers, name) {
			t.Errorf("%s is not under papers", name)
		}
	}
	for noun, names := range map[string][]string{"spectral": {"path", "record"}, "lines": {"agree", "table"}} {
		text, _ := output(t, noun)
		_, below, _ := strings.Cut(text, "Commands for papers:")
		for _, name := range names {
			if !strings.Contains(below, "\n  "+name+" ") {
				t.Errorf("%s %s is not under papers", noun, name)
			}
		}
	}
}

// A word that is a command of another level, or what people call it, is answered with where it is.
func TestDidYouMeanOnTwoLevels(t *testing.T) {
	for typed, want := range map[string]string{
		"verify": "ledger verify", "compare": "ledger compare", "replay": "ledger replay", "metrics": "calib metrics or ledger metrics",
		"query": "ledger query", "ece": "calib metrics", "sets": "calib sets", "heatmap": "spectral heatmap", "auc": "ood auc",
		"plot": "ledger plot", "table": "calib table, experiment table or lines table", "conformal": "calib sets", "certfy": "certify",
		"heatmpa": "spectral heatmap", "ledger inof": "info", "ledger heatmap": "certspec spectral heatmap", "calib verify": "certspec ledger verify",
	} {
		cmd, _, stderr := program(t, strings.Fields(typed)...)
		cmd.Run()
		if code := cmd.ProcessState.ExitCode(); code != cli.ExitUsage || !strings.Contains(stderr.String(), "; did you mean "+want+"?") {
			t.Errorf("%s: exit code %d: %s; want %s", typed, code, stderr, want)
		}
	}
	cmd, _, stderr := program(t, "qqqqqqq")
	if cmd.Run(); strings.Contains(stderr.String(), "did you mean") {
		t.Errorf("%s", stderr)
	}
}

// remedies are calls that fail with a message, and what the message says to do: the flags or words that it names, added
// to the call or in the place of others. Done so, the same call goes on.
func TestRemediesGoOn(t *testing.T) {
	t.Chdir(t.TempDir())
	repository := os.Getenv("PWD")
	for dir := repository; ; dir = filepath.Dir(dir) {
		if _, err := os.Stat(filepath.Join(dir, "go.work")); err == nil {
			repository = dir
			break
		} else if dir == filepath.Dir(dir) {
			t.Skip("the test does not run in the repository")
		}
	}
	soft := "label,p0,p1,p2\n" + strings.Repeat("0,.7,.2,.1\n1,.2,.7,.1\n", 20)
	testkit.Write(t, []byte(soft), "soft.csv")
	model := childModel("good")
	for _, c := range []struct{ call, says, then string }{
		{"spectral heatmap --exec MODEL --data synthetic/test[max_index=2] --sigma 0.25 --n 200 --rule fixed --frequencies 0", "--ledgers is missing: folder of the ledgers",
			"spectral heatmap --exec MODEL --data synthetic/test[max_index=2] --sigma 0.25 --n 200 --rule fixed --frequencies 0 --ledgers map"},
		{"calib sets --probabilities soft.csv --radii 0,0.25", "certspec calib sets MODEL --data NAME --sigma S --radii R",
			"calib sets --exec SCORES --data synthetic/test[max_index=30] --sigma 0.25 --radii 0,0.25"},
		{"calib certify --in soft.csv", "certspec calib metrics --in", "calib metrics --probabilities soft.csv"},
		{"report LEDGER -o r.pdf", "ends in .html, .htm, .md or .tex", "report LEDGER -o r.html"},
		{"ledger metrics LEDGER -o m.png", "ends in .md, .tex, .csv, .html or .txt", "ledger metrics LEDGER -o m.tex"},
		{"ledger metrics LEDGER --format csv -o m.tex", "ends in .csv", "ledger metrics LEDGER --format csv -o m.csv"},
		{"certify --exec MODEL --data synthetic/test[max_index=2] --sigma 0.25 --n 150", "expected a multiple of the block", "certify --exec MODEL --data synthetic/test[max_index=2] --sigma 0.25 --n 200 --rule fixed"},
		{"ledger verify LEDGER --out x", "unknown flag --out", "ledger verify LEDGER"},
		{"dataset list nothing", "did you mean notmnist", "dataset list notmnist"},
		{"corrupt apply --name fogg --severity 3 --seed 1 --in in.npy --out out.npy", "did you mean fog", "corrupt list"},
		{"ledger plot LEDGER", "--out is missing: figure to write: .pdf, .svg or .png", "ledger plot LEDGER -o c.pdf"},
	} {
		fill := func(line string) []string {
			words, err := shellwords.Parse(line)
			if err != nil {
				t.Fatal(err)
			}
			for i, word := range words {
				switch word {
				case "MODEL":
					words[i] = model
				case "SCORES":
					words[i] = childModel("scores")
				case "LEDGER":
					words[i] = filepath.Join(repository, "notebooks/results/quickstart.ledger")
				}
			}
			return words
		}
		cmd, _, stderr := program(t, fill(c.call)...)
		if err := cmd.Run(); err == nil || !strings.Contains(stderr.String(), c.says) {
			t.Errorf("%s: %v: %s; want %q", c.call, err, stderr, c.says)
		}
		cmd, _, stderr = program(t, fill(c.then)...)
		if err := cmd.Run(); err != nil {
			t.Errorf("%s, as the message says: %v: %s", c.then, err, stderr)
		}
	}
}

// A command that records nothing does not send people to the same command again.
func TestStoppedCommandsSayWhatIsLeft(t *testing.T) {
	records := 0
	walk(t, func(t *testing.T, cmd *cobra.Command) {
		flags := strings.Fields(cmd.Annotations["certspec_records"])
		if len(flags) > 0 {
			records++
		}
		for _, flag := range flags {
			if flag != "*" && cmd.Flags().Lookup(flag) == nil {
				t.Errorf("its record is in --%s, which it does not have", flag)
			}
		}
	})
	if records < 10 {
		t.Errorf("%d commands go on", records)
	}
}

// Sets of a CSV at radius 0: thresholds and coverage, with the sentence why a radius needs a model.
func TestSetsOfAFile(t *testing.T) {
	file := filepath.Join(t.TempDir(), "soft.csv")
	rows := "label;p0;p1;p2\n"
	for i := range 200 {
		rows += []string{"0;0,7;0,2;0,1\n", "1;0,2;0,7;0,1\n", "2;0,3;0,3;0,4\n", "0;0,1;0,8;0,1\n"}[i%4]
	}
	testkit.Write(t, []byte(rows), file)
	text, code := output(t, "calib", "sets", "--probabilities", file, "--miscoverage", "0.1", "--json")
	var got struct {
		Calibration, Test, Classes int
		Sets                       []struct {
			Score     string
			Threshold *float64
			Coverage  float64
			Size      float64 `json:"mean_size"`
		}
	}
	if err := json.Unmarshal([]byte(text), &got); err != nil || code != 0 || got.Calibration != 100 || got.Test != 100 || got.Classes != 3 || len(got.Sets) != 3 {
		t.Fatalf("exit code %d, %v: %s", code, err, text)
	}
	for _, s := range got.Sets {
		if s.Threshold == nil || s.Coverage < 0.7 || s.Size < 0.5 || s.Size > 3 {
			t.Errorf("%+v", s)
		}
	}
	// Three of four rows have 1 − p of the label at most 0.6, the fourth 0.9; nine of ten need it.
	if lac := got.Sets[0]; lac.Score != "lac" || *lac.Threshold != 0.9 || lac.Coverage != 1 {
		t.Errorf("%+v", lac)
	}
	text, code = output(t, "calib", "sets", "--probabilities", file, "--score", "aps", "--calibrate", "120")
	if code != 0 || !strings.Contains(text, "120 rows calibrate, 80 are tested") || !strings.Contains(text, "sets that hold within a radius need the model") || strings.Contains(text, "raps") {
		t.Errorf("exit code %d: %s", code, text)
	}
	for _, bad := range [][]string{
		{"--probabilities", file, "--radii", "0.25"}, {"--probabilities", file, "--sigma", "0.25"}, {"--probabilities", file, "--score", "margin"},
		{"--probabilities", file, "--calibrate", "200"}, {"--probabilities", file, "--miscoverage", "1"}, {"--score", "aps"},
	} {
		if _, code := output(t, append([]string{"calib", "sets"}, bad...)...); code != cli.ExitUsage {
			t.Errorf("%q: exit code %d", bad, code)
		}
	}
}

// A debiased error whose estimate is negative is marked, not printed as a 0 that was measured.
func TestClippedDebiasedError(t *testing.T) {
	file := testkit.Write(t, []byte("confidence,label,prediction\n"+strings.Repeat("0.52,1,1\n0.52,1,0\n", 20)),
		t.TempDir(), "c.csv")
	text, code := output(t, "calib", "metrics", "--in", file)
	if code != 0 || !strings.Contains(text, "negative, cut to 0") || strings.Contains(text, "debiased ECE, root mean square   0.0") {
		t.Errorf("exit code %d: %s", code, text)
	}
	if got := jsonOf(t, "calib", "metrics", "--in", file, "--json"); got["debiased_ece_clipped"] != true || got["accuracy"] != 0.5 {
		t.Errorf("%v", got)
	}
}

// Without a home folder no library logs on standard error, and a file of another form is told as what it is.
func TestWithoutHomeAndOtherForms(t *testing.T) {
	cmd, stdout, stderr := program(t, "version")
	for _, pair := range os.Environ() {
		if !strings.HasPrefix(pair, "HOME=") {
			cmd.Env = append(cmd.Env, pair)
		}
	}
	if err := cmd.Run(); err != nil || stderr.Len() > 0 || !strings.HasPrefix(stdout.String(), "certspec ") {
		t.Errorf("%v: %s%s", err, stdout, stderr)
	}
	t.Chdir(t.TempDir())
	for name, says := range map[string]string{"net.onnxtxt": "ONNX as text is not read; expected an .onnx file", "net.tflite": "a file of a form that is not read (.tflite)"} {
		testkit.Write(t, []byte("ir_version: 8"), name)
		cmd, _, stderr := program(t, "certify", name, "--data", "synthetic/test", "--sigma", "0.25")
		if err := cmd.Run(); err == nil || !strings.Contains(stderr.String(), says) {
			t.Errorf("%s: %v: %s", name, err, stderr)
		}
	}
}

// Tables name no folder of the machine, and a set is called as --data-name says, in the ledger, too.
func TestDataName(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "secret", "pics")
	writePictures(t, folder)
	ledger := filepath.Join(t.TempDir(), "x.ledger")
	certify := []string{"certify", "--exec", childModel("good"), "--data", folder, "--sigma", "0.25", "--n", "100", "--rule", "fixed", "--out", ledger}
	if _, code := output(t, certify...); code != 0 {
		t.Fatalf("exit code %d", code)
	}
	for _, args := range [][]string{{"ledger", "metrics", ledger}, {"ledger", "metrics", ledger, "-o", "-", "--format", "latex"}, {"report", ledger}, {"report", ledger, "--format", "latex"}} {
		if text, code := output(t, args...); code != 0 || strings.Contains(text, "secret") || !strings.Contains(text, "pics") {
			t.Errorf("%q: exit code %d: %s", args, code, text)
		}
	}
	if text, code := output(t, "ledger", "metrics", ledger, "--data-name", "Cats and dogs"); code != 0 || !strings.Contains(text, "Cats and dogs") {
		t.Errorf("exit code %d: %s", code, text)
	}
	if _, code := output(t, append(certify[:len(certify)-1], filepath.Join(t.TempDir(), "named.ledger"), "--data-name", "Cats and dogs")...); code != 0 {
		t.Errorf("exit code %d", code)
	}
	if _, code := output(t, append(certify, "--data-name", "a[b]")...); code != cli.ExitUsage {
		t.Errorf("exit code %d", code)
	}
}

// writePictures makes a folder with a picture in each of two classes.
func writePictures(t *testing.T, folder string) {
	t.Helper()
	for i, class := range []string{"cat", "dog"} {
		picture := image.NewNRGBA(image.Rect(0, 0, 32, 32))
		for k := range picture.Pix {
			picture.Pix[k] = 255 // opaque, too
			if k%4 < 3 {
				picture.Pix[k] = uint8(90*i + k%7 + 100)
			}
		}
		var data bytes.Buffer
		if err := png.Encode(&data, picture); err != nil {
			t.Fatal(err)
		}
		testkit.Write(t, data.Bytes(), folder, class, "0.png")
	}
}
