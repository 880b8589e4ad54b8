package main

import (
	"bytes"
	"encoding/csv"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"github.com/certspec/certspec/cmd/certspec/internal/cli"
	"github.com/certspec/certspec/internal/testkit"
	"github.com/certspec/certspec/rs"
)

// promised are endings, each with a look at a file that keeps what the ending says. Nothing keeps what .xyz says.
var promised = map[string]func(data []byte) bool{
	".png": func(d []byte) bool { return bytes.HasPrefix(d, []byte("\x89PNG\r\n")) },
	".pdf": func(d []byte) bool { return bytes.HasPrefix(d, []byte("%PDF-")) },
	".html": func(d []byte) bool {
		return bytes.HasPrefix(d, []byte("<")) && !bytes.Contains(d, []byte("<svg role")) || bytes.HasPrefix(d, []byte("<!DOCTYPE html>"))
	},
	".svg": func(d []byte) bool { return bytes.Contains(d[:min(len(d), 400)], []byte("<svg ")) },
	".csv": func(d []byte) bool {
		rows, err := csv.NewReader(bytes.NewReader(d)).ReadAll()
		return err == nil && len(rows) > 0 && len(rows[0]) > 1
	},
	".tex": func(d []byte) bool { return bytes.Contains(d, []byte(`\`)) },
	".xyz": func([]byte) bool { return false },
}

// What is written has the form that its ending says, or nothing is computed and the exit code is 2.
func TestEveryOutputKeepsItsEnding(t *testing.T) {
	ledger := "../../notebooks/results/quickstart.ledger"
	samples := testkit.Write(t, []byte("correct,confidence\n1,0.9\n0,0.6\n1,0.7\n"), t.TempDir(), "samples.csv")
	scored := scoredLedger(t)
	verbs := append(outputs(t), [][]string{
		{"ledger", "plot", ledger, "-o"}, {"ledger", "compare", ledger, ledger, "-o"}, {"ledger", "query", ledger, "-o"},
		{"ledger", "attest", ledger, "--at-least", "0=0.1", "-o"}, {"report", ledger, "-o"},
		{"ledger", "metrics", ledger, "-o"}, {"calib", "certify", "--ledger", scored, "--radii", "0", "-o"},
		{"calib", "table", scored, "--radii", "0", "-o"}, {"calib", "metrics", "--in", samples, "--diagram"},
		{"spectral", "heatmap", "--exec", childModel("good"), "--data", "synthetic/test[max_index=4]", "--metric", "error", "--frequencies", "0,1", "-o"},
		{"evaluate", "--exec", childModel("good"), "--data", "synthetic/test[max_index=4]", "-o"},
	}...)
	kept := 0
	for _, args := range verbs {
		if i := slices.Index(args, "--format"); i >= 0 { // the ending alone says it here
			args = slices.Delete(slices.Clone(args), i, i+2)
		}
		for ending, keeps := range promised {
			file := filepath.Join(t.TempDir(), "x"+ending)
			_, code := output(t, append(slices.Clone(args), file)...)
			data, err := os.ReadFile(file)
			switch {
			case code == cli.ExitUsage && err != nil:
			case code == 0 && err == nil && (keeps(data) || ending == ".xyz" && args[0] == "merge"):
				kept++
			default:
				t.Errorf("%q %s: exit code %d, %v, the file begins with %.40q", args, ending, code, err, data)
			}
		}
	}
	if kept < 25 {
		t.Errorf("%d files keep what their endings say", kept)
	}
}

// Every flag that names a file to write refuses the endings of pictures and pages that its command does not write.
// A record of ours may have any other name, and a number in a name is no ending.
func TestEveryOutputFlagKnowsItsForms(t *testing.T) {
	flags := 0
	walk(t, func(t *testing.T, cmd *cobra.Command) {
		for _, f := range flagsOf(cmd) {
			forms := f.Annotations["certspec_out"]
			if forms == nil {
				continue
			}
			flags++
			for ending := range promised {
				fresh, rest, err := root().Find(append(strings.Fields(cmd.CommandPath())[1:], "--"+f.Name, filepath.Join(t.TempDir(), "x"+ending)))
				if err != nil {
					t.Fatal(err)
				}
				if err := fresh.ParseFlags(rest); err != nil {
					t.Fatal(err)
				}
				err = fresh.Root().PersistentPreRunE(fresh, nil)
				written := slices.ContainsFunc(forms[1:], func(form string) bool { return slices.Contains(strings.Fields(form), ending) })
				record := len(forms) == 1
				if taken := err == nil; taken != (written || record && ending == ".xyz") {
					t.Errorf("--%s x%s: %v", f.Name, ending, err)
				}
			}
			for _, name := range []string{"plain", "noise_0.25", "σ.5"} {
				fresh, rest, _ := root().Find(append(strings.Fields(cmd.CommandPath())[1:], "--"+f.Name, filepath.Join(t.TempDir(), name)))
				if err := fresh.ParseFlags(rest); err != nil {
					t.Fatal(err)
				}
				if err := fresh.Root().PersistentPreRunE(fresh, nil); err != nil {
					t.Errorf("--%s %s: %v", f.Name, name, err)
				}
			}
		}
	})
	if flags < 35 {
		t.Errorf("%d flags", flags)
	}
	for says, args := range map[string][]string{
		"--format is csv": {"ledger", "metrics", oldLedger, "--format", "csv", "-o", "t.tex"},
		"--format is tsv": {"ledger", "export", oldLedger, "--format", "tsv", "-o", "t.csv"},
		"that .pdf says":  {"ledger", "metrics", oldLedger, "-o", "t.pdf"},
	} {
		cmd, _, stderr := program(t, args...)
		cmd.Run()
		if code := cmd.ProcessState.ExitCode(); code != cli.ExitUsage || !strings.Contains(stderr.String(), says) {
			t.Errorf("%q: exit code %d: %s", args, code, stderr)
		}
	}
}

// A curve is drawn for each file; where settings differ it says so, and the steps in CSV follow the rows.
func TestLedgerPlot(t *testing.T) {
	a, b := "../../notebooks/results/fmnist-cnn-s025.ledger", "../../notebooks/results/fmnist-cnn-s050.ledger"
	file := filepath.Join(t.TempDir(), "c.svg")
	cmd, stdout, stderr := program(t, "ledger", "plot", a, b, "--names", "quiet,loud", "--title", "Two networks", "-o", file)
	if err := cmd.Run(); err != nil || !strings.Contains(stderr.String(), "differ in σ (σ = 0.25; σ = 0.5)") || !strings.Contains(stdout.String(), "of 2 files") {
		t.Errorf("%v: %s%s", err, stdout, stderr)
	}
	if svg, err := os.ReadFile(file); err != nil || !bytes.Contains(svg, []byte(">quiet<")) || !bytes.Contains(svg, []byte(">loud<")) || !bytes.Contains(svg, []byte(">Two networks<")) {
		t.Errorf("%v, %.300s", err, svg)
	}
	steps := filepath.Join(t.TempDir(), "c.csv")
	if _, code := output(t, "ledger", "plot", a, "-o", steps); code != 0 {
		t.Fatalf("exit code %d", code)
	}
	run, err := rs.Open(a)
	if err != nil {
		t.Fatal(err)
	}
	in, err := os.Open(steps)
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	rows, err := csv.NewReader(in).ReadAll()
	if err != nil || len(rows) != len(run.Curve().Radii)+1 {
		t.Fatal(len(rows), err)
	}
	for i := 1; i < len(rows); i += 50 { // counted again, image by image
		radius, accuracy := number(t, rows[i][1]), number(t, rows[i][2])
		count := 0
		for _, r := range run.Rows {
			if r.Correct() && r.Radius >= radius {
				count++
			}
		}
		if accuracy != float64(count)/float64(len(run.Rows)) {
			t.Errorf("%v: %d of %d images", rows[i], count, len(run.Rows))
		}
	}
	for says, args := range map[string][]string{
		"--names has 1": {a, b, "--names", "one", "-o", "x.pdf"}, "--out is missing": {a}, "at least one ledger": {"-o", "x.pdf"},
		"no such file": {"none.ledger", "-o", "x.pdf"},
	} {
		cmd, _, stderr := program(t, append([]string{"ledger", "plot"}, args...)...)
		if cmd.Run(); !strings.Contains(stderr.String(), says) || cmd.ProcessState.ExitCode() == 0 {
			t.Errorf("%q: %s", args, stderr)
		}
	}
}

func number(t *testing.T, text string) float64 {
	t.Helper()
	v, err := strconv.ParseFloat(text, 64)
	if err != nil {
		t.Fatal(err)
	}
	return v
}
