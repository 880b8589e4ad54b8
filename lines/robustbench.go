package lines

import (
	"encoding/csv"
	"fmt"
	"io"
	"strconv"

	"github.com/certspec/certspec/internal/textfile"
)

// readRobustBench reads RobustBench's table of accuracies under corruptions (Croce et al. 2021,
// unaggregated_results.csv): two header lines (corruption, severity), then a model a line, accuracies as shares. images
// is the number of test images of one cell: RobustBench evaluates 5,000 of ImageNet-C and 10,000 of CIFAR-10-C. A
// corruption's accuracy is the mean over its severities; "mean" is that over all cells. Errors are *FieldError.
func readRobustBench(path string, in io.Reader, images int) (Models, error) {
	if images < 1 {
		return nil, fmt.Errorf("lines: %d images in a cell, want at least 1", images)
	}
	r := csv.NewReader(textfile.NewReader(in))
	rows, err := r.ReadAll()
	if err != nil {
		return nil, &FieldError{File: path, Reason: err.Error()}
	}
	if len(rows) < 3 || len(rows[0]) < 2 || rows[0][0] != "" || rows[1][0] != "" {
		return nil, &FieldError{File: path, Line: 1,
			Reason: "not RobustBench's table, which begins with a line of corruptions and a line of severities, " +
				"both without a name in the first column"}
	}
	var models Models
	for i, row := range rows[2:] {
		line := i + 3
		sum, count := map[string]float64{}, map[string]int{}
		for c, cell := range row[1:] {
			corruption := rows[0][c+1]
			v, err := strconv.ParseFloat(cell, 64)
			if err != nil || !(v >= 0 && v <= 1) {
				return nil, &FieldError{path, line, corruption, fmt.Sprintf("%q, want a share between 0 and 1", cell)}
			}
			for _, field := range []string{corruption, "mean"} {
				sum[field] += v
				count[field]++
			}
		}
		m := Model{Name: row[0], Accuracies: map[string]Accuracy{}}
		for field, s := range sum {
			m.Accuracies[field] = Accuracy{Share: s / float64(count[field]), N: count[field] * images}
		}
		models = append(models, m)
	}
	return models, nil
}
