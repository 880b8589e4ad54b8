package golden

import (
	"bytes"
	"fmt"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/certspec/certspec/dataset"
	"github.com/certspec/certspec/internal/testkit"
)

const results = "notebooks/results/"

// compared are the keys that comparisons got since.
var compared = []string{"p_holm", "heading", "differ", "cap", "beyond_cap", "verdicts"}

// figuresOf are commands that print JSON, by the name of their case. They read ledgers of the repository and files of the test.
var figuresOf = map[string]struct {
	command string
	since   []string // keys that the output got since
}{
	"ledger info":             {"ledger info internal/golden/testdata/rs-staged.ledger", nil},
	"ledger info, version 1":  {"ledger info rs/testdata/v1-staged.ledger", nil},
	"ledger verify":           {"ledger verify " + results + "quickstart.ledger", nil},
	"ledger verify, scores":   {"ledger verify " + results + "fmnist-cnn-s025-scores.ledger", nil},
	"log metrics":             {"ledger metrics --bounds " + results + "quickstart.ledger", []string{"name", "cap"}},
	"log metrics, published":  {"ledger metrics --radii 0,0.2 DIR/log.tsv", []string{"name"}},
	"log compare":             {"ledger compare --resamples 400 --seed 3 " + results + "fmnist-cnn-s025-fixed.ledger " + results + "fmnist-cnn-s025-iss.ledger", compared},
	"report":                  {"report " + results + "quickstart.ledger", []string{"checks"}},
	"report, simultaneous":    {"report --simultaneous " + results + "fmnist-cnn-s025-betting.ledger", []string{"checks"}},
	"bound":                   {"bound --k 990 --n 1000 --sigma 0.25", nil},
	"bound, two sides":        {"bound --k 90 --n 100 --alpha 0.05 --two-sided", nil},
	"bound, hoeffding":        {"bound --k 990 --n 1000 --sigma 0.25 --bound hoeffding", nil},
	"bound, betting":          {"bound --radius 0.25 --sigma 0.25 --n 1000 --k 940", nil},
	"plan":                    {"plan --from " + results + "quickstart.ledger --n 10000 --radii 0.25,0.5 --rate 1000", nil},
	"sweep table":             {"ledger metrics --resamples 100 " + results + "cifar10-resnet20-s025-C", nil},
	"sweep table, clean":      {"ledger metrics --against clean --resamples 100 " + results + "cifar10-resnet20-s025-C", compared},
	"calib metrics, plain":    {"calib metrics --in DIR/samples.csv", []string{"adaece_quantile", "smooth_ece", "debiased_ece", "mce"}},
	"calib metrics of ledger": {"calib metrics --ledger " + results + "fmnist-cnn-s025-scores.ledger --radii 0.1", []string{"adaece_quantile", "smooth_ece", "debiased_ece", "mce"}},
	"calib exact":             {"calib worst --in DIR/samples.csv", nil},
	"calib exact of ledger":   {"calib worst --ledger " + results + "fmnist-cnn-s025-scores.ledger --radii 0.1,0.25 --spending family", nil},
	"calib admm":              {"calib worst --by admm --in DIR/samples.csv --steps 100", nil},
	"calib dece":              {"calib worst --by dece --in DIR/samples.csv --trials 14 --seed 2", nil},
	"calib certify":           {"calib certify --ledger " + results + "cifar10-resnet20-s025-staged.ledger --radii 0.1 --certificate standard --mode max --spending split", nil},
	"spectral spectrum":       {"spectral spectrum --data synthetic/test[max_index=4]", nil},
	"spectral profile":        {"spectral spectrum --profile --data synthetic/test[max_index=4]", nil},
	"corrupt list":            {"corrupt list", nil},
	"augment list":            {"augment --list", nil},
	"dataset info":            {"dataset list synthetic/test[max_index=4]", nil},
}

// samplesCSV are 60 samples with intervals, in hundredths.
func samplesCSV() []byte {
	var b bytes.Buffer
	b.WriteString("correct,confidence,lower,upper\n")
	for i := range 60 {
		c := 30 + i*37%70
		fmt.Fprintf(&b, "%d,%.2f,%.2f,%.2f\n", min(1, i*29%100*2/c), float64(c)/100, float64(c-i%13)/100, float64(min(100, c+i%7))/100)
	}
	return b.Bytes()
}

// inputs are the files that commands read.
func inputs(t *testing.T) string {
	dir := t.TempDir()
	images, err := dataset.Open("synthetic/test[max_index=4]")
	if err != nil {
		t.Fatal(err)
	}
	loaded, err := images.Load(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	pixels := append(arrayHead(fmt.Sprintf("(%d, 32, 32, 3)", loaded.Len())), loaded.Pixels...)
	log := "idx\tlabel\tpredict\tradius\tcorrect\ttime\n0\t3\t3\t0.25\t1\t0:00:01.5\n20\t7\t-1\t0.0\t0\t0:00:01.5\n40\t2\t2\t1.5\t1\t0:00:01.25\n"
	for name, content := range map[string][]byte{"samples.csv": samplesCSV(), "images.npy": pixels, "log.tsv": []byte(log)} {
		testkit.Write(t, content, dir, name)
	}
	return dir
}

// words splits a command and puts the folder of the inputs into it.
func words(command, dir string) []string {
	list := strings.Fields(command)
	for i := range list {
		list[i] = strings.Replace(list[i], "DIR", dir, 1)
	}
	return list
}

func TestFiguresOfVerbs(t *testing.T) {
	figures(t)
	dir := inputs(t)
	for name, c := range figuresOf {
		out := run(t, append(words(c.command, dir), "--json")...)
		out = bytes.ReplaceAll(out, []byte(dir), []byte("DIR"))
		// The program of whoever runs the command, and how fast it was.
		rsBook.check(t, name, without(t, out, append(c.since, "program_now", "seconds", "licence", "license")...))
	}
}

// Commands that write a file, and the file.
func TestFilesOfVerbs(t *testing.T) {
	figures(t)
	dir := inputs(t)
	for name, c := range map[string][2]string{
		"log table, CSV":            {"ledger metrics " + results + "quickstart.ledger " + results + "fmnist-cnn-s025-fixed.ledger -o DIR/t.csv", "t.csv"},
		"log table, LaTeX":          {"ledger metrics --radii 0,0.25 " + results + "quickstart.ledger -o DIR/t.tex", "t.tex"},
		"calib table, CSV":          {"calib table --search DIR/samples.csv -o DIR/c.csv", "c.csv"},
		"calib exact, assignment":   {"calib worst --in DIR/samples.csv --assignment DIR/a.csv --lp DIR/a.lp", "a.csv"},
		"calib exact, program":      {"calib worst --in DIR/samples.csv --assignment DIR/a.csv --lp DIR/a.lp", "a.lp"},
		"calib certify, intervals":  {"calib certify --ledger " + results + "fmnist-cnn-s025-scores.ledger --radii 0.1 -o DIR/i.csv", "i.csv"},
		"sweep table, CSV":          {"ledger metrics --resamples 100 " + results + "cifar10-resnet20-s025-C -o DIR/s.csv", "s.csv"},
		"ledger export":             {"ledger export " + results + "quickstart.ledger -o DIR/e.tsv", "e.tsv"},
		"augment fouriermix":        {"augment --name fouriermix --seed 1 --in DIR/images.npy --out DIR/v.npy", "v.npy"},
		"augment augmix, bytes":     {"augment --name augmix --option severity=5 --seed 1 --uint8 --in DIR/images.npy --out DIR/w.npy", "w.npy"},
		"augment autoaugment":       {"augment --name autoaugment --seed 2 --view 1 --in DIR/images.npy --out DIR/x.npy", "x.npy"},
		"augment crop and flip":     {"augment --name crop+flip --seed 1 --epoch 3 --in DIR/images.npy --out DIR/y.npy", "y.npy"},
		"corrupt fourier":           {"corrupt apply --name fourier --fc 3 --alpha 0.5 --eps 8 --seed 1 --in DIR/images.npy --out DIR/f.npy", "f.npy"},
		"spectral spectrum, matrix": {"spectral spectrum --in DIR/images.npy --out DIR/m.csv", "m.csv"},
		"spectral profile, CSV":     {"spectral spectrum --profile --in DIR/images.npy --out DIR/p.csv", "p.csv"},
	} {
		run(t, words(c[0], dir)...)
		made := bytes.ReplaceAll(testkit.Read(t, filepath.Join(dir, c[1])), []byte(dir), []byte("DIR"))
		if filepath.Ext(c[1]) == ".tex" { // a comment names what were copies when the digests were made
			made = []byte(oldWords.Replace(string(made)))
		}
		rsBook.check(t, name, made)
	}
}

// The sets of corrupted images, file by file, at few images.
func TestCorruptMake(t *testing.T) {
	dir := t.TempDir()
	run(t, "corrupt", "make", "--data", "synthetic/test[max_index=2]", "--family", "C,C-extra,C-bar", "--seed", "1", "--out", dir)
	files, err := filepath.Glob(filepath.Join(dir, "*.npy"))
	if err != nil || len(files) == 0 {
		t.Fatal("no files", err)
	}
	for _, file := range files {
		rsBook.check(t, "corrupt make, "+filepath.Base(file), testkit.Read(t, file))
	}
}

var oldWords = strings.NewReplacer("| noise samples through", "| noisy copies through", "noise samples", "copies")

// The rows of the tables of a report, without their words' formats.
func TestReportTables(t *testing.T) {
	figures(t)
	for _, name := range []string{"quickstart", "fmnist-cnn-s025-iss", "fmnist-cnn-s025-betting"} {
		text := run(t, "report", results+name+".ledger")
		var rows []string
		for _, row := range regexp.MustCompile(`(?m)^\|.*[0-9].*\|$`).FindAllString(string(text), -1) {
			if !strings.HasPrefix(row, "| program") {
				rows = append(rows, row)
			}
		}
		// The digests are of the time when noise samples were called copies, and digits had no groups.
		ungrouped := regexp.MustCompile(`,(\d\d\d)\b`).ReplaceAllString(strings.Join(rows, "\n"), "$1")
		// A case of its own since the reader's page stands first, and says once what was said twice: each of its rows
		// but those of counts stood in the report before, too.
		rsBook.check(t, "tables of the report of "+name+", the reader's page first", []byte(oldWords.Replace(ungrouped)))
	}
}
