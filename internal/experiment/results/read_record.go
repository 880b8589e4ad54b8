package results

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"github.com/certspec/certspec/internal/atomicfile"
	"github.com/certspec/certspec/internal/corrupt/shared"
	"github.com/certspec/certspec/internal/experiment/store"
	"github.com/certspec/certspec/internal/study/measure"
	"github.com/certspec/certspec/lines"
	"github.com/certspec/certspec/rs/sweep"
	"github.com/certspec/certspec/table"
)

// joinRecords makes the file of all records of a folder that was merged, in the order of the models.
func joinRecords(m *store.Manifest, folder string) error {
	var all []byte
	for _, model := range m.Models {
		text, err := os.ReadFile(store.ResultPath(folder, &model, measure.RecordFile))
		if err != nil && !os.IsNotExist(err) {
			return fmt.Errorf("experiment: %w", err)
		}
		all = append(all, text...)
	}
	if len(all) == 0 {
		return nil
	}
	return atomicfile.Write(filepath.Join(folder, measure.RecordsFile), all)
}

// recordColumns are the fields of the printed table, in its order.
var recordColumns = []struct{ field, title string }{
	{"jacobian_norm", "Jacobian"}, {"high_freq_fracs_within", "HFF within"}, {"high_freq_fracs_between", "HFF between"},
	{"high_freq_fracs_amp", "HFF amplitude"}, {"consistent_distances_amp", "CD amplitude"},
	{"high_freq_fracs_phase", "HFF phase"}, {"consistent_distances_phase", "CD phase"},
}

// RecordMeans are means over the seeds of a line.
type RecordMeans struct {
	Percent map[string]float64 `json:"percent"`
	Numbers map[string]float64 `json:"numbers"`
	Seeds   int                `json:"seeds"`
}

func (r recordReader) fill(f *TableBuilder, out *Filled) ([]string, error) {
	any := false
	for i := range out.Lines {
		l := &out.Lines[i]
		found := &RecordMeans{Percent: map[string]float64{}, Numbers: map[string]float64{}}
		for _, name := range l.Models {
			model := f.Manifest.Model(name)
			if measure.IsRecord(model.Results) {
				of, err := measure.RecordOf(model.Results)
				if err != nil {
					return nil, err
				}
				record := of.Record()
				add(found.Percent, record.Percent)
				add(found.Numbers, record.Numbers)
				found.Seeds++
				continue
			}
			path := f.Result(model, measure.RecordFile)
			if _, err := os.Stat(path); os.IsNotExist(err) {
				continue
			}
			models, err := lines.Read(path, lines.CSV{})
			if err != nil {
				return nil, err
			}
			for _, m := range models {
				of := m.Record()
				add(found.Percent, of.Percent)
				add(found.Numbers, of.Numbers)
				found.Seeds++
			}
		}
		if found.Seeds == 0 {
			continue
		}
		for _, of := range []map[string]float64{found.Percent, found.Numbers} {
			for key := range of {
				of[key] /= float64(found.Seeds)
			}
		}
		l.Found["record"] = found
		any = true
	}
	if !any {
		return nil, nil
	}
	notes := []string{fmt.Sprintf("The numbers of all models stand in %s, as certspec lines reads them.",
		measure.RecordsFile)}
	cells, err := r.Cells(f.Manifest.Tier)
	if err != nil {
		return nil, err
	}
	if slices.ContainsFunc(cells, func(c sweep.Cell) bool { return c.Corruption == "frost" }) {
		notes = append(notes, shared.DrawnFrost)
	}
	for _, field := range slices.Sorted(maps.Keys(r.Sets)) {
		if _, there := r.Placed[field]; !there {
			notes = append(notes, fmt.Sprintf("No %s: --data %s=FOLDER was not given.", field, r.Sets[field]))
		}
	}
	return notes, nil
}

func add(to, values map[string]float64) {
	for key, v := range values {
		to[key] += v
	}
}

func (r recordReader) tables(f *Filled, columns []string, head func(FilledLine) []any, add func(*table.Table,
	string)) {
	t := &table.Table{Columns: append(slices.Clone(columns), "accuracy, %", "under C, %")}
	for _, c := range recordColumns {
		t.Columns = append(t.Columns, c.title)
	}
	for _, l := range f.Lines {
		of, ok := l.Found["record"].(*RecordMeans)
		if !ok {
			continue
		}
		clean, under := of.Percent["cifar10_acc"]+of.Percent["id_acc"]+of.Percent["val"], 0.
		n := 0.
		for _, field := range slices.Sorted(maps.Keys(of.Percent)) {
			if field != "cifar10_acc" && field != "id_acc" && field != "val" && field != "cifar10c_acc" {
				under += of.Percent[field]
				n++
			}
		}
		row := append(head(l), Rounded(clean, 2), Rounded(under/max(n, 1), 2))
		for _, c := range recordColumns {
			row = append(row, Rounded(of.Numbers[c.field], 4))
		}
		t.Rows = append(t.Rows, row)
	}
	add(t, "numbers that may predict accuracy under shift")
}
