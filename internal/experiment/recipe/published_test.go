package recipe

import (
	"crypto/sha256"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/certspec/certspec/study"
)

// The numbers of the papers are those that were taken down before they had settings: 3,305 lines of table, row, figure
// and value, sorted, with this digest.
func TestPrintedNumbers(t *testing.T) {
	l, err := Open()
	if err != nil {
		t.Fatal(err)
	}
	var all []string
	for _, name := range l.Names(Tables) {
		made, err := l.Table(name)
		if err != nil {
			t.Fatal(err)
		}
		if made.Printed == nil || len(made.Printed.From) > 0 {
			continue
		}
		for row, figures := range made.Published {
			for figure, v := range figures {
				all = append(all, fmt.Sprintf("%s\t%s\t%s\t%v\n", StoredName(name), row, figure, v))
			}
		}
		numbers, err := l.Numbers(made)
		if err != nil {
			t.Fatal(err)
		}
		for c, n := range numbers {
			s := n.Settings
			if s.Data == "" || s.Network == "" || s.Decimals == 0 || n.Source == "" ||
				c.What == "acr" && (s.N == 0 || s.Sigma == 0 || s.Alpha == 0 || s.Images == 0 || s.Severities == nil) {
				t.Errorf("%s: %v has no settings: %+v", name, c, s)
			}
		}
	}
	slices.Sort(all)
	const digest = "a97939a67772b999bbbb4c0dcb8a8fd62c6e838efe5134e3d99798623eade36d"
	if got := fmt.Sprintf("%x", sha256.Sum256([]byte(strings.Join(all, "")))); len(all) != 3305 || got != digest {
		t.Errorf("%d numbers with the digest %s", len(all), got)
	}
}

// Two tables that are named together may not print two values for one cell.
func TestPrintedFrom(t *testing.T) {
	l, err := Open()
	if err != nil {
		t.Fatal(err)
	}
	both, err := l.Numbers(Table{Name: "x", Printed: &study.Printed{From: []string{"sun2021/table2", "sun2021/table3"}}})
	if got := both[study.Cell{Row: "FourierMix+HCR", Set: "C-bar", What: "acr"}].Value; err != nil || got != 0.419 || len(both) != 310 {
		t.Errorf("%v of %d, %v", got, len(both), err) // 200 and 120, ten clean ones in both
	}
	_, err = l.Numbers(Table{Name: "x", Printed: &study.Printed{From: []string{"D/table2", "D/table7"}}})
	if err == nil || !strings.Contains(err.Error(), "is printed as") {
		t.Errorf("CIFAR-10 and FashionMNIST together: %v", err)
	}
}

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
