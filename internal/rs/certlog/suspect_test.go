package certlog_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/certspec/certspec/internal/rs/certlog"
	"github.com/certspec/certspec/internal/testkit"
)

// steps is a log of n rows whose indices go in steps.
func steps(n, step int, radius string) string {
	var b strings.Builder
	b.WriteString(header)
	for i := range n {
		fmt.Fprintf(&b, "%d\t3\t3\t%s\t1\t1\n", i*step, radius)
	}
	return b.String()
}

func TestTruncatedLogsAreWarnedOf(t *testing.T) {
	whole := []string{
		steps(500, 20, "0.1"), steps(10_000, 1, "0.1"), steps(350, 143, "0.1"), steps(26_032, 1, "0.1"), steps(500, 100, "0.1"),
		steps(5, 1, "0.1"), // hardly meant to cover a test set
	}
	for _, text := range whole {
		if log := read(t, text); len(log.Warnings) != 0 {
			t.Errorf("%d rows up to %d: warnings %q", len(log.Rows), log.Rows[len(log.Rows)-1].Image, log.Warnings)
		}
	}
	for _, c := range []struct{ text, want string }{
		{steps(300, 20, "0.1"), "the last index is 5980, and indices go in steps of 20"},
		{steps(499, 20, "0.1"), "the last index is 9960"},
		{steps(25, 20, "0.1"), "the last index is 480"},
		{steps(501, 20, "0.1"), "the last index is 10000"},
		{steps(100, 99, "0.1"), "the last index is 9801"}, // 9900 would follow
		{steps(9_000, 1, "0.1"), "the last index is 8999"},
		{strings.TrimSuffix(steps(500, 20, "0.1"), "\n"), "line 501: no newline"},
		{strings.Replace(steps(500, 20, "0.1"), "\n40\t3\t3\t0.1\t1\t1", "", 1), "1 are missing, the first is 40"},
	} {
		if log := read(t, c.text); len(log.Warnings) != 1 || !strings.Contains(log.Warnings[0], c.want) {
			t.Errorf("warnings %q, want one with %q", log.Warnings, c.want)
		}
	}
}

// The largest radius of n = 100,000, α = 0.001, σ = 0.25 is .952864 (spec, §11.1): printed with three digits it may
// read .953 but not .954, and a 1.0 among them stands for 1.00.
func TestCheckRadii(t *testing.T) {
	for radius, above := range map[string]bool{"0.952": false, "0.953": false, "0.954": true, "0.95286": false, "0.95287": true, "0.952865": true, "0.978": true} {
		log := read(t, steps(500, 20, radius))
		if err := log.CheckRadii(100_000, .001, .25); err != nil || (len(log.Warnings) == 1) != above {
			t.Errorf("radius %s: warnings %q, %v", radius, log.Warnings, err)
		}
	}
	// Half a unit less than .953 is .9525, and not a bit lower: the cap is 3.811457·σ.
	for sigma, above := range map[float64]bool{.24992: false, .2499: true} {
		log := read(t, steps(500, 20, "0.953"))
		if err := log.CheckRadii(100_000, .001, sigma); err != nil || (len(log.Warnings) == 1) != above {
			t.Errorf("σ = %v: warnings %q, %v", sigma, log.Warnings, err)
		}
	}
	log := read(t, header+"0\t3\t3\t0.378\t1\t1\n1\t3\t3\t1.0\t1\t1\n2\t3\t4\t2.5\t0\t1\n")
	if err := log.CheckRadii(100_000, .001, .25); err != nil || len(log.Warnings) != 1 ||
		!strings.Contains(log.Warnings[0], "2 of 3 radii are above 0.952864") || !strings.Contains(log.Warnings[0], "the largest is 2.5, of idx 2") {
		t.Errorf("warnings %q, %v", log.Warnings, err)
	}
	for _, bad := range []struct {
		n            int
		alpha, sigma float64
	}{{0, .001, .25}, {-5, .001, .25}, {100, 0, .25}, {100, 1, .25}, {100, .001, 0}, {100, .001, -1}} {
		if err := log.CheckRadii(bad.n, bad.alpha, bad.sigma); err == nil {
			t.Errorf("%+v is no error", bad)
		}
	}
}

// Three of the logs hold radii above the most that 100,000 samples prove at α = 0.001: counted by hand, those of .955 and
// .978 at σ = .25; 1.91 and 1.96 at σ = .5, of which 1.91 may be 1.905 and is not.
func TestPublishedLogsClaimMoreThanTheyCan(t *testing.T) {
	dir := os.Getenv("CERTSPEC_DATA")
	if dir == "" {
		t.Skip("needs the published logs: CERTSPEC_DATA names no folder")
	}
	for _, c := range []struct {
		file  string
		sigma float64
		want  string
	}{
		{"cohen-cifar10-resnet110-noise_0.12-sigma_0.12", .12, ""},
		{"cohen-cifar10-resnet110-noise_0.25-sigma_0.25", .25, "77 of 500"},
		{"cohen-cifar10-resnet110-noise_0.50-sigma_0.50", .5, "9 of 500"},
		{"cohen-imagenet-resnet50-noise_0.50-sigma_0.50", .5, "88 of 500"},
		{"salman-cifar10-resnet110-PGD10-m8-eps255-noise_0.25-sigma_0.25", .25, ""},
	} {
		log, err := certlog.Open(filepath.Join(dir, "certify-logs", c.file+".tsv"))
		if err != nil {
			t.Error(err)
			continue
		}
		if err := log.CheckRadii(100_000, .001, c.sigma); err != nil {
			t.Error(err)
		}
		if got := strings.Join(log.Warnings, "\n"); (c.want == "") != (got == "") || !strings.Contains(got, c.want) {
			t.Errorf("%s: warnings %q, want %q", c.file, got, c.want)
		}
	}
}

// The published logs of corrupted images, each of one severity's block of CIFAR-10-C, are whole: none is suspected. Cut at
// their ends, all are, and so is a block that lacks its beginning.
func TestBlocksOfSeverities(t *testing.T) {
	dir := os.Getenv("CERTSPEC_DATA")
	if dir == "" {
		t.Skip("needs the published logs: CERTSPEC_DATA names no folder")
	}
	files, err := filepath.Glob(filepath.Join(dir, "certify-logs-shift", "*", "*", "severity_*", "*.tsv"))
	if err != nil || len(files) < 500 {
		t.Fatal(len(files), err)
	}
	for i, file := range files {
		text := testkit.Read(t, file)
		if log := read(t, string(text)); len(log.Warnings) > 0 {
			t.Errorf("%s: %q", file, log.Warnings)
		}
		if i%25 > 0 {
			continue
		}
		lines := strings.SplitAfter(strings.TrimRight(string(text), "\n")+"\n", "\n")
		if log := read(t, strings.Join(lines[:len(lines)-3], "")); !strings.Contains(strings.Join(log.Warnings, " "), "truncated") {
			t.Errorf("%s without its end: %q", file, log.Warnings)
		}
	}
	for _, whole := range []int{0, 10_000, 40_000} {
		if log := read(t, blockLog(whole, whole+9_900)); len(log.Warnings) > 0 {
			t.Errorf("the block from %d: %q", whole, log.Warnings)
		}
	}
	for _, cut := range [][2]int{{10_000, 19_500}, {10_500, 19_900}, {60_000, 69_900}, {5_000, 24_900}} {
		if log := read(t, blockLog(cut[0], cut[1])); len(log.Warnings) != 1 {
			t.Errorf("from %d to %d: %q", cut[0], cut[1], log.Warnings)
		}
	}
}

// blockLog has every hundredth index from one to another.
func blockLog(from, to int) string {
	var b strings.Builder
	b.WriteString(header)
	for i := from; i <= to; i += 100 {
		fmt.Fprintf(&b, "%d\t3\t3\t0.5\t1\t1\n", i)
	}
	return b.String()
}
