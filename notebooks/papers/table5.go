package papers

import (
	"fmt"
	"strings"

	"github.com/certspec/certspec/calib"
	"github.com/certspec/certspec/calib/confidence"
	"github.com/certspec/certspec/internal/experiment/recipe"
	"github.com/certspec/certspec/nb"
	"github.com/certspec/certspec/notebooks/lesson"
	"github.com/certspec/certspec/rs"
)

// Table5 has the baselines of Emde et al. 2025 on ImageNet (table 5), in percent, and below
// it the same figures of certified sets of ours. It checks that in each row accuracy falls with the
// radius and the certified Brier score grows.
func Table5(ours ...lesson.Scored) *nb.Tabular {
	radii := []float64{0.05, 0.5, 1, 2, 3}
	t := nb.Columns("network", "figure", "R = 0.05", "R = 0.5", "R = 1", "R = 2", "R = 3")
	add := func(network, figure string, at []float64, sign float64) {
		row := []any{network, figure}
		for i, v := range at {
			nb.Assert(i == 0 || sign == 0 || sign*(v-at[i-1]) >= 0, "%s of %s is out of order: %v", figure, network, at)
			row = append(row, fmt.Sprintf("%.1f", 100*v))
		}
		for len(row) < len(t.Columns) {
			row = append(row, "")
		}
		t.Add(row...)
	}
	library := nb.Must(recipe.Open())
	table := nb.Must(library.Table("D/table5"))
	for _, r := range table.Rows {
		title := nb.Must(library.Recipe(r.Recipe)).Title
		spaced := strings.NewReplacer("=", " = ", " ε", ", ε").Replace(title)
		for _, figure := range []struct {
			name string
			sign float64
		}{{"CA", -1}, {"ACCE", 0}, {"CBS", 1}} {
			var at []float64
			for _, radius := range radii {
				if v, ok := table.Published[title][fmt.Sprintf("%s at %g", figure.name, radius)]; ok {
					at = append(at, v)
				}
			}
			add(spaced, figure.name, at, figure.sign)
		}
	}
	for _, s := range ours {
		total := float64(len(nb.Must(rs.Open(s.Ledger)).Rows))
		var ca, cce, cbs []float64
		for _, c := range s.Certified(confidence.MethodCDF, radii...) {
			if len(c.Correct) < 20 {
				break
			}
			right := 0.0
			for _, correct := range c.Correct {
				if correct {
					right++
				}
			}
			score, _, err := calib.CertifiedBrier(c.Correct, c.Lower, c.Upper)
			nb.Check(err)
			worst := nb.Must(calib.ExactCCE(c.Correct, c.Lower, c.Upper, lesson.Bins(15).Edges()))
			ca, cce, cbs = append(ca, right/total), append(cce, worst.CCE), append(cbs, score)
		}
		add(s.Name, "CA", ca, -1)
		add(s.Name, "CCE", cce, 0)
		add(s.Name, "CBS", cbs, 0)
	}
	t.Notes = []string{
		"AT with σ and ε: " + strings.TrimPrefix(table.Source, "source: ") +
			": ResNet-50 on ImageNet, n = 100,000, in percent; published figures, not ours. Columns end where the " +
			"radius cannot be certified.",
		"The others are ours: small CNNs on FashionMNIST, trained with noise alone, n = 10,000; CCE is the exact " +
			"largest calibration error. Other data and another network: no row is to be compared with one of the paper.",
	}
	return t
}
