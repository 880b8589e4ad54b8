package papers

import (
	"slices"
	"strings"
	"testing"

	"github.com/certspec/certspec/internal/experiment"
	"github.com/certspec/certspec/nb"
	"github.com/certspec/certspec/resample"
)

func TestVerdictsOfATier(t *testing.T) {
	table2, err := experiment.Fill(t.Context(), "../../notebooks/results/experiments/A", "A/table2", resample.Options{Resamples: 200})
	if err != nil {
		t.Fatal(err)
	}
	parts := ByTier([]*experiment.Filled{{Name: "a", Tier: "evidence"}, table2, {Name: "b", Tier: "evidence"}})
	if len(parts) != 2 || len(parts[0]) != 2 || parts[0][1].Name != "b" || len(parts[1]) != 1 || parts[1][0] != table2 {
		t.Fatalf("%+v", parts)
	}
	// Table 2 has neither C-bar nor CIFAR-F nor adapted networks: 14 claims about groups, two, six and three about the means are left.
	all := Orderings(parts[1])
	if len(all.Rows) != 25 || !strings.Contains(strings.Join(all.Notes, "\n"), "16 claims more") || !strings.Contains(strings.Join(all.Notes, "\n"), "Tier cpu.") {
		t.Errorf("%d claims; %v", len(all.Rows), all.Notes)
	}
	hasVerdict(t, all, "FourierMix+HCR above Gaussian+JSD, mACR C", "0.115 and 0.135: -0.020", "open")
	hasVerdict(t, all, "FourierMix above Gaussian, mACR C", "0.101 and 0.109: -0.008", "open")
}

// hasVerdict asks for a claim among the verdicts, with radii that certspec experiment table prints.
func hasVerdict(t *testing.T, all *nb.Tabular, claim, begins, verdict string) {
	t.Helper()
	k := slices.IndexFunc(all.Rows, func(row []any) bool { return row[0] == claim })
	if k < 0 || !strings.HasPrefix(all.Rows[k][1].(string), begins) || all.Rows[k][2] != verdict {
		t.Errorf("%s: not %s, %s in %v", claim, begins, verdict, all.Rows)
	}
}

func TestBestMethods(t *testing.T) {
	best, err := experiment.Fill(t.Context(), "../../notebooks/results/experiments/X", "X/best", resample.Options{Resamples: 200})
	if err != nil {
		t.Fatal(err)
	}
	all := Best([]*experiment.Filled{best})
	if len(all.Rows) != 16 {
		t.Errorf("%d claims", len(all.Rows))
	}
	hasVerdict(t, all, "FourierMix+CAT-RS above CAT-RS, mACR C", "0.142 and 0.135: +0.007", "open")
	hasVerdict(t, all, "CAT-RS above FourierMix+HCR, clean", "0.183 and 0.153: +0.03", "for this start: shows")
	hasVerdict(t, all, "MACER above Gaussian, clean", "0.101 and 0.151: -0.050", "for this start: the opposite shows")
}
