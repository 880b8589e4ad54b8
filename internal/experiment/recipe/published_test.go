package recipe

import (
	"math"
	"strings"
	"testing"
)

// What is printed of Sun et al. 2021 was taken down right: the mean of a row's corruptions is its mACR. In one row the paper
// itself has another mean.
func TestPublishedMeans(t *testing.T) {
	l, err := Open()
	if err != nil {
		t.Fatal(err)
	}
	misprint := map[string]float64{"A/table5 AugMix+JSD": 0.1954} // printed .193
	corruptions := map[string]int{"A/table2": 15, "A/table3": 10, "A/table4": 15, "A/table5": 10, "A/table6": 15, "A/table7": 10,
		"A/table8": 15, "A/table9": 15}
	for name, n := range corruptions {
		made, err := l.Table(name)
		if err != nil || len(made.Published) < 3 {
			t.Fatalf("%s: %d rows, %v", name, len(made.Published), err)
		}
		for row, figures := range made.Published {
			mean, sum, singles := 0.0, 0.0, 0
			for figure, v := range figures {
				switch {
				case strings.HasPrefix(figure, "mACR"):
					mean = v
				case figure != "clean" && !strings.HasPrefix(figure, "C "):
					sum += v
					singles++
				}
			}
			if other, ok := misprint[name+" "+row]; ok {
				mean = other
			}
			if singles != n || math.Abs(sum/float64(singles)-mean) > 0.0011 {
				t.Errorf("%s %s: mACR %.3f, mean of %d corruptions %.4f", name, row, mean, singles, sum/float64(singles))
			}
			if of, err := l.Table("A/table1"); err != nil {
				t.Error(err)
			} else if name == "A/table2" || name == "A/table4" { // table 1 sums them up
				summary := of.Published[map[string]string{"A/table2": "A/c10/", "A/table4": "A/c100/"}[name]+short[row]]
				for _, figure := range []string{"clean", "mACR C", "C Low", "C Mid", "C High"} {
					if summary[figure] != figures[figure] {
						t.Errorf("%s %s: %s is %v, in table 1 %v", name, row, figure, figures[figure], summary[figure])
					}
				}
			}
		}
	}
}

var short = map[string]string{"Gaussian": "g", "Gaussian+JSD": "g-jsd", "AutoAugment": "aa", "AutoAugment+JSD": "aa-jsd", "AugMix": "am",
	"AugMix+JSD": "am-jsd", "AugMix+HCR": "am-hcr", "FourierMix": "fm", "FourierMix+JSD": "fm-jsd", "FourierMix+HCR": "fm-hcr"}
