package papers

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/certspec/certspec/internal/lines/certified/certifiedfiles"
	"github.com/certspec/certspec/lines/certified"
	"github.com/certspec/certspec/nb"
	"github.com/certspec/certspec/resample"
	"github.com/certspec/certspec/rs/compare"
)

// CorruptedLogs are average certified radii by frequency group of the published logs in
// $CERTSPEC_DATA/certify-logs-shift: Low, and each next group less the one before; and the mean
// over all corruptions less the radius of the model named from. It is nil where the logs are not there.
// ordered are the models whose radii rise from group to group, and above those whose mean stands
// above from's, each by an interval above 0.
func CorruptedLogs(from string) (t *nb.Tabular, models, ordered, above []string) {
	folder := filepath.Join(os.Getenv("CERTSPEC_DATA"), "certify-logs-shift")
	if _, err := os.Stat(folder); errors.Is(err, fs.ErrNotExist) || os.Getenv("CERTSPEC_DATA") == "" {
		return nil, nil, nil, nil
	}
	t = nb.Columns("training", "low", "mid − low", "high − mid", "all", "all, from "+logNames.Replace(from))
	const testImages = 10_000 // ids of published corruptions number the severities through
	logs := nb.Must(certifiedfiles.ReadLogs(folder))
	base := slices.IndexFunc(logs, func(m certified.Model) bool { return m.Name == from })
	nb.Assert(base >= 0, "no logs of %s", from)
	for _, m := range logs {
		s := nb.Must(compare.MeanACR(nb.Context(), m.Corrupted(testImages), resample.Options{}))
		low := slices.IndexFunc(s.Groups, func(g compare.NamedACR) bool { return g.Name == "low" })
		row := []any{logNames.Replace(m.Name), s.Groups[low].ACR}
		rises := true
		for _, d := range s.Order {
			row, rises = append(row, difference(d.Difference)), rises && d.Interval.Low > 0
		}
		row = append(row, s.MACR.ACR)
		if models = append(models, m.Name); rises {
			ordered = append(ordered, m.Name)
		}
		if m.Name == from {
			t.Add(append(row, "–")...)
			continue
		}
		d := nb.Must(compare.Sweeps(nb.Context(), logs[base].Corrupted(testImages), m.Corrupted(testImages),
			resample.Options{})).MACR
		if t.Add(append(row, difference(d))...); d.Interval.Low > 0 {
			above = append(above, m.Name)
		}
	}
	t.Notes = []string{"Logs released with the code of CAT-RS: ResNet-110, σ = 0.25, n = 100,000, 100 images in " +
		"each of 75 cells of CIFAR-10-C; 95 % intervals of the bootstrap over images, paired."}
	return t, models, ordered, above
}

// logNames are the trainings of the logs as the papers call them.
var logNames = strings.NewReplacer("cat-rs", "CAT-RS", "cohen", "Gaussian", "consistency", "Consistency", "macer",
	"MACER", "salman", "SmoothAdv", "smoothmix", "SmoothMix", "stab", "Stability")

func difference(d compare.Difference) string {
	return strings.ReplaceAll(fmt.Sprintf("%.3f (%.3f to %.3f)", d.Difference, d.Interval.Low,
		d.Interval.High), "-", "−")
}
