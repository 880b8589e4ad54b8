package papers

import (
	"fmt"

	"github.com/certspec/certspec/corrupt"
	"github.com/certspec/certspec/lines"
	"github.com/certspec/certspec/nb"
)

// Undefended are accuracies of three networks that are not smoothed, on CIFAR-10-C by severity (Sun et al. 2021,
// figure 8), and on groups of corruptions in the mean over severities (figure 9), from results/undefended. The last
// value says whether another network is best on clean images than on C.
func Undefended() (*nb.Figure, *nb.Tabular, bool) {
	severities, columns := []int{1, 3, 5}, []string{"clean"}
	for _, g := range corrupt.Groups[:3] {
		columns = append(columns, "C, "+g.Name)
	}
	names := map[string]string{"resnet20": "ResNet-20", "resnet56": "ResNet-56",
		"cifar10-resnet20-s025": "ResNet-20 trained with noise"}
	t := nb.Columns(append([]string{"accuracy, %"}, append(columns, "C", "C-bar")...)...)
	var drawn []nb.Line
	rows := map[string][]float64{}
	best := [2]string{}
	for i, severity := range severities {
		file := fmt.Sprintf("results/undefended/severity%d.csv", severity)
		for k, m := range nb.Must(lines.Read(file, lines.CSV{})) {
			percent := func(field string) float64 { return 100 * m.Accuracies[field].Share }
			if i == 0 {
				drawn = append(drawn, nb.Line{Name: names[m.Name], X: []float64{0}, Y: []float64{percent("clean")}})
				rows[m.Name] = make([]float64, 6)
			}
			drawn[k].X, drawn[k].Y = append(drawn[k].X, float64(severity)), append(drawn[k].Y, percent("C"))
			row := []float64{percent("clean")}
			for _, g := range corrupt.Groups[:3] {
				mean := 0.0
				for _, c := range g.Corruptions {
					mean += percent(c) / float64(len(g.Corruptions))
				}
				row = append(row, mean)
			}
			for j, v := range append(row, percent("C"), percent("C-bar")) {
				rows[m.Name][j] += v / float64(len(severities))
			}
			if i < len(severities)-1 {
				continue
			}
			cells := []any{names[m.Name]}
			for _, v := range rows[m.Name] {
				cells = append(cells, fmt.Sprintf("%.1f", v))
			}
			t.Add(cells...)
			for j, column := range []int{0, 4} {
				if best[j] == "" || rows[m.Name][column] > rows[best[j]][column] {
					best[j] = m.Name
				}
			}
		}
	}
	t.Notes = []string{"200 images of a JPEG copy of CIFAR-10; means over severities 1, 3 and 5. The first two " +
		"networks are published ones without any defence, the third is ours. None is one of the paper's three."}
	title := "Noise in training costs clean accuracy and pays at high severity\nCIFAR-10-C, 200 images, not smoothed"
	return nb.Lines(nb.Axes{Title: title, X: "severity (0: clean)", Y: "accuracy (%)"}, drawn...), t, best[0] != best[1]
}
