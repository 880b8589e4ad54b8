package papers

import (
	"strings"
	"testing"

	"github.com/certspec/certspec/experiment"
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
	// Table 2 has neither C-bar nor CIFAR-F nor adapted networks: 14 claims about groups, two, six and two about the means are left.
	all := Orderings(parts[1])
	if len(all.Rows) != 24 || !strings.Contains(strings.Join(all.Notes, "\n"), "15 claims more") || !strings.Contains(strings.Join(all.Notes, "\n"), "Tier cpu.") {
		t.Errorf("%d claims; %v", len(all.Rows), all.Notes)
	}
	for _, row := range all.Rows {
		if row[0] == "FourierMix+HCR above Gaussian+JSD, mACR C" && !strings.HasPrefix(row[1].(string), "0.115 and 0.135: -0.020") {
			t.Errorf("%v", row)
		}
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
	for _, row := range all.Rows {
		switch row[0] {
		case "FourierMix+CAT-RS above CAT-RS, mACR C": // the radii are those of certspec experiment table
			if !strings.HasPrefix(row[1].(string), "0.142 and 0.135: +0.007") || row[2] != "open" {
				t.Error(row)
			}
		case "MACER above Gaussian, clean":
			if row[2] != "the opposite shows" {
				t.Error(row)
			}
		}
	}
}
