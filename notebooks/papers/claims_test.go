package papers

import (
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/certspec/certspec/internal/experiment/claims"
	"github.com/certspec/certspec/internal/testkit"
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
		printed, err := claims.Printed(library(), table)
		if err != nil {
			t.Fatal(err)
		}
		results, _, err := resultsDigest(folderOf(a.Folder), printed.Cells)
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
		c := Judged(a.Folder, a.Table, a.Family)
		is.Fixed, is.List = c.Fixed, c.List
		all[name] = is
		testkit.Write(t, cacheLines(t, all), "papers/findings.json")
		for _, j := range c.List {
			t.Log(name, say(j), "|", j.Published(), "|", j.Ours(), "|", j.ForNetworks(), "|", j.OverStarts())
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
		var lines []string
		for _, j := range all[name].List {
			lines = append(lines, "\n  "+line(j))
		}
		c := all[name]
		families = append(families, fmt.Sprintf("\n %s: {\"claims\": %s,\n \"results\": %s, \"fixed\": %d, \"list\": [%s]}",
			line(name), line(c.Claims), line(c.Results), c.Fixed, strings.Join(lines, ",")))
	}
	return []byte("{" + strings.Join(families, ",") + "\n}\n")
}
