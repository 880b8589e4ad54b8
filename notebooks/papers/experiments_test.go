package papers

import (
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/certspec/certspec/internal/experiment/results"
	"github.com/certspec/certspec/resample"
)

func TestVerdictsOfATier(t *testing.T) {
	table2, err := results.Fill(t.Context(), "../../notebooks/results/experiments/A", "A/table2", resample.Options{Resamples: 200})
	if err != nil {
		t.Fatal(err)
	}
	// Table 2 has neither C-bar nor CIFAR-F nor adapted networks: 14 claims about groups, two, six and three about the means are left.
	all := orderings([]*results.Filled{table2})
	notes := strings.Join(all.Notes, "\n")
	if len(all.List) != 25 || !strings.Contains(notes, "16 claims more") || !strings.Contains(notes, "Tier cpu.") {
		t.Errorf("%d claims; %v", len(all.List), all.Notes)
	}
	hasVerdict(t, all, "FourierMix+HCR above Gaussian+JSD on C", "0.115 and 0.135: −0.020", "open")
	hasVerdict(t, all, "FourierMix above Gaussian on C", "0.101 and 0.109: −0.008", "open")
}

// hasVerdict asks for a claim among the verdicts, with radii that certspec experiment table prints.
func hasVerdict(t *testing.T, all *Findings, claim, begins, verdict string) {
	t.Helper()
	k := slices.IndexFunc(all.List, func(f Finding) bool { return f.Claim == claim })
	if k < 0 {
		t.Fatalf("no claim %q", claim)
	}
	part := all.List[k].Parts[0]
	if here := part.Of + ": " + all.number(part); !strings.HasPrefix(here, begins) || all.List[k].Verdict != verdict {
		t.Errorf("%s: not %s, %s but %s, %s", claim, begins, verdict, here, all.List[k].Verdict)
	}
}

func TestBestMethods(t *testing.T) {
	best, err := results.Fill(t.Context(), "../../notebooks/results/experiments/X", "X/best", resample.Options{Resamples: 200})
	if err != nil {
		t.Fatal(err)
	}
	all := bestMethods([]*results.Filled{best})
	if len(all.List) != 16 {
		t.Errorf("%d claims", len(all.List))
	}
	hasVerdict(t, all, "FourierMix+CAT-RS above CAT-RS on C", "0.142 and 0.135: 0.007", "open")
	hasVerdict(t, all, "CAT-RS above FourierMix+HCR on clean images", "0.183 and 0.153: 0.03", "for this start: shows")
	hasVerdict(t, all, "MACER above Gaussian on clean images", "0.101 and 0.151: −0.050",
		"for this start: the opposite shows")
}

// What is printed of Sun et al. 2021 agrees with itself: the groups are in order, and their mean is that of all.
func TestPrintedRadiiAgree(t *testing.T) {
	rows := 0
	// The paper prints other groups for these two, so that their mean is not that of the corruptions.
	other := map[string]float64{"AutoAugment": 0.369, "A/c10/aa": 0.369, "A/c100/g": 0.1737}
	for model, v := range printed() {
		low, there := v["C Low"]
		if !there {
			continue
		}
		rows++
		mean := (low + v["C Mid"] + v["C High"]) / 3
		of := v["mACR C"]
		if o, there := other[model]; there {
			of = o
		}
		if low >= v["C Mid"] || v["C Mid"] >= v["C High"] || math.Abs(mean-of) > 0.0011 {
			t.Errorf("%s: %v", model, v)
		}
	}
	if rows != 27 { // ten methods by name, and by recipe those of both data sets
		t.Errorf("%d rows with groups", rows)
	}
}
