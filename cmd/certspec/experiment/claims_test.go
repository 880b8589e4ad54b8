package experiment

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"strings"
	"testing"

	"github.com/certspec/certspec/internal/testkit"
	"github.com/certspec/certspec/study"
	"github.com/certspec/certspec/table"
)

func tableOf(t *testing.T, args ...string) (string, error) {
	t.Helper()
	var out bytes.Buffer
	cmd := tableCommand()
	cmd.SilenceErrors, cmd.SilenceUsage = true, true
	cmd.SetArgs(args)
	cmd.SetOut(&out)
	err := cmd.ExecuteContext(t.Context())
	return out.String(), err
}

// The verb judges anew what docs/papers.md has: the same values, words and intervals for the same claims.
func TestClaimsAreThoseOfThePage(t *testing.T) {
	const folder = committed + "/experiments/A-scratch"
	page := testkit.Read(t, "../../../docs/papers.md")
	text, err := tableOf(t, folder, "sun2021/scratch-starts", "--claims", "--format", "csv")
	if err != nil {
		t.Fatal(err)
	}
	read := csv.NewReader(strings.NewReader(text))
	read.Comment, read.FieldsPerRecord = '#', -1
	rows, err := read.ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	found := 0
	for _, row := range rows {
		for line := range strings.Lines(string(page)) {
			cells := strings.Split(strings.ReplaceAll(line, "*", ""), " | ")
			if len(cells) < 6 || !strings.HasSuffix(cells[1], ": "+row[0]) || !strings.Contains(line, "scratch-starts") {
				continue
			}
			found++
			for k, want := range cells[2:6] {
				if row[k+1] != want {
					t.Errorf("%s: %q, the page has %q", row[0], row[k+1], want)
				}
			}
		}
	}
	if found < 2 {
		t.Errorf("%d claims of the page were found in\n%s", found, text)
	}
	var families []struct {
		Family, Digest string
		Claims         []study.Judged
	}
	text, err = tableOf(t, folder, "sun2021/scratch-starts", "--claims", "--json")
	if err != nil || json.Unmarshal([]byte(text), &families) != nil || len(families) == 0 || len(families[0].Claims) < 2 {
		t.Errorf("%v: %s", err, text)
	}
	for _, form := range table.Forms {
		text, err := tableOf(t, folder, "sun2021/scratch-starts", "--claims", "--format", form, "--confidence", "0.9")
		if err != nil || strings.Count(text, "Holm") > 1 || strings.Contains(text, "95 ") {
			t.Errorf("%s: %v, what verdicts mean is there %d times:\n%s", form, err, strings.Count(text, "Holm"), text)
		}
	}
}

// What has no claims, or does not go together, is said.
func TestClaimsRefuse(t *testing.T) {
	const folder = committed + "/experiments/A-scratch"
	for want, args := range map[string][]string{
		"expected one of them":   {folder, "sun2021/scratch-starts", "--claims", "--left"},
		"one of them":            {folder, "sun2021/scratch-starts", "--claims", "--published"},
		"it is of tables":        {folder, "--claims", "--figure", "groups", "--out", "a.svg"},
		"goes with --claims":     {folder, "sun2021/scratch-starts", "--add", "mine.yaml"},
		"no such file":           {folder, "sun2021/scratch-starts", "--claims", "--add", "mine.yaml"},
		"makes no claims":        {committed + "/experiments/A", "sun2021/table1", "--claims"},
		"the folder has":         {folder, "sun2021/table8", "--claims"},
		"is no folder of":        {"nowhere", "sun2021/table2", "--claims"},
		"sun2021/scratch-nobody": {folder, "sun2021/scratch-nobody", "--claims"},
	} {
		if text, err := tableOf(t, args...); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v: %v, expected %q; %s", args, err, want, text)
		}
	}
}
