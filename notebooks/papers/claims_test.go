package papers

import (
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"math"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/certspec/certspec/resample"
)

var update = flag.String("update", "", "cache judges what has changed and writes findings.json; page writes docs/papers.md anew")

// Every family that the pages show is in findings.json with the claims and results of today.
func TestCacheIsCurrent(t *testing.T) {
	t.Chdir("..")
	all := map[string]cached{}
	for _, a := range shownFamilies() {
		table, err := library().Table(a.Table)
		if err != nil {
			t.Fatal(err)
		}
		printed, err := printedOf(table)
		if err != nil {
			t.Fatal(err)
		}
		results, _, err := resultsDigest(folderOf(a.Folder), printed)
		if err != nil {
			t.Fatal(err)
		}
		name := key(a.Folder, a.Table, a.Family)
		is, was := cached{Claims: table.Families[a.Family].Digest(), Results: results}, cache()[name]
		if *update != "cache" {
			if is.Claims != was.Claims || is.Results != was.Results {
				t.Errorf("findings.json is not current for %s: go test ./papers -run Cache -update=cache", name)
			}
			continue
		}
		c, err := judgedBy(a.Folder, a.Table, a.Family, resample.Options{}, true)
		if err != nil {
			t.Fatal(err)
		}
		is.Fixed, is.List = c.Fixed, c.List
		all[name] = is
		if err := os.WriteFile("papers/findings.json", cacheLines(t, all), 0o666); err != nil {
			t.Fatal(err)
		}
		for _, j := range c.List {
			t.Log(name, say(j), "|", c.published(j), "|", c.ours(j), "|", c.ruling(j, j.Networks), "|", c.ruling(j, j.Starts))
		}
	}
	if len(cache()) != len(shownFamilies()) && *update == "" {
		t.Errorf("findings.json has %d families, the pages %d", len(cache()), len(shownFamilies()))
	}
}

// cacheLines is JSON with a line for each claim.
func cacheLines(t *testing.T, all map[string]cached) []byte {
	t.Helper()
	line := func(v any) string {
		text, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	var families []string
	for _, name := range slices.Sorted(maps.Keys(all)) {
		var claims []string
		for _, j := range all[name].List {
			claims = append(claims, "\n  "+line(j))
		}
		c := all[name]
		families = append(families, fmt.Sprintf("\n %s: {\"claims\": %s,\n \"results\": %s, \"fixed\": %d, \"list\": [%s]}",
			line(name), line(c.Claims), line(c.Results), c.Fixed, strings.Join(claims, ",")))
	}
	return []byte("{" + strings.Join(families, ",") + "\n}\n")
}

// A number has two digits of half its range at most; ends show on which side the bound lies.
func TestRanged(t *testing.T) {
	for want, c := range map[string]struct {
		v, low, high, bound float64
		digits              int
	}{
		"35 (28 to 49)":             {35.1, 27.6, 49.4, math.NaN(), 1},
		"8 (−7 to 27)":              {8.47, -7.45, 26.67, math.NaN(), 2},
		"−0.026 (−0.036 to −0.016)": {-.0262, -.0361, -.0159, 0, 3},
		"0.0012 (0.0003 to 0.0021)": {.0012, .0003, .0021, 0, 3},
		"35 (0.2 to 70.3)":          {35.1, .2, 70.3, 0, 1},
		"97.1 (94.9 to 99.0)":       {97.1, 94.9, 99, math.NaN(), 1},
	} {
		if got := ranged(c.v, c.low, c.high, c.bound, c.digits); got != want {
			t.Errorf("%s; expected %s", got, want)
		}
	}
}
