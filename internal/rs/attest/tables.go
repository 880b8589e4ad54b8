package attest

import (
	"bytes"
	"encoding/csv"
	"errors"
	"fmt"
	"strconv"

	"go.yaml.in/yaml/v3"

	"github.com/certspec/certspec/internal/rs/ledger/beside"
	"github.com/certspec/certspec/rs"
)

// Verona is a run with the columns of result_df.csv of VERONA, a line for each labelled image. The certified ℓ2 radius
// is epsilon_value, 0 where another class or none is certified; the smallest radius of an attack is not known, nor is a
// time that the run did not keep.
func Verona(run *rs.Run, times []beside.Time) ([]byte, error) {
	h := run.Header
	var b bytes.Buffer
	w := csv.NewWriter(&b)
	w.Write([]string{"", "network_path", "image_id", "original_label", "tmp_path", "epsilon_value",
		"smallest_sat_value", "total_time", "verifier"})
	verifier := fmt.Sprintf("certspec l2 sigma=%s alpha=%s rule=%s", decimal(h.Sigma), decimal(h.Alpha), h.Rule.Name)
	seconds := map[int]float64{}
	for _, t := range times {
		seconds[t.Image] += t.Seconds
	}
	line := 0
	for _, row := range run.Rows {
		if row.Label < 0 {
			continue
		}
		radius, took := 0.0, ""
		if row.Class == row.Label {
			radius = row.Radius
		}
		if s, ok := seconds[row.Image]; ok {
			took = decimal(s)
		}
		w.Write([]string{strconv.Itoa(line), h.Model.Name, strconv.Itoa(row.Image), strconv.Itoa(row.Label), "",
			decimal(radius), "", took, verifier})
		line++
	}
	w.Flush()
	return b.Bytes(), w.Error()
}

// EvalResults is the certified accuracy of a run at radii, as a file for the folder .eval_results of a model on the Hub
// of Hugging Face. The set there and its task belong to the benchmark.
func EvalResults(run *rs.Run, digest, set, task string, radii ...float64) ([]byte, error) {
	if set == "" || task == "" {
		return nil, errors.New("no name of the benchmark's data set and of its task")
	}
	type data struct {
		ID   string `yaml:"id"`
		Task string `yaml:"task_id"`
	}
	type result struct {
		Dataset data    `yaml:"dataset"`
		Value   float64 `yaml:"value"`
		Notes   string  `yaml:"notes"`
	}
	var all []result
	h := run.Header
	for _, at := range run.Rows.CertifiedAccuracy(radii...) {
		if at.Images == 0 {
			return nil, errors.New("no image has a label: it has no accuracy")
		}
		all = append(all, result{data{set, task}, float64(at.Count) / float64(at.Images), fmt.Sprintf(
			"certified accuracy at l2 radius %s, sigma %s, alpha %s, %d images, rule %s, ledger %s", decimal(at.Radius),
			decimal(h.Sigma), decimal(h.Alpha), at.Images, h.Rule.Name, digest)})
	}
	return yaml.Marshal(all)
}
