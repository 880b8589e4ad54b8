package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	prettytable "github.com/jedib0t/go-pretty/v6/table"
	"github.com/jedib0t/go-pretty/v6/text"

	"github.com/certspec/certspec/internal/atomicfile"
)

// report is the outcome of one benchmark.
type report struct {
	Benchmark string  `json:"benchmark"`
	Command   string  `json:"command"`
	Date      string  `json:"date"`
	Machine   machine `json:"machine"`
	Load      string  `json:"load,omitempty"`           // load average of the system before the first table
	Unit      string  `json:"unit"`                     // rates are in these per second
	Processor bool    `json:"processor_time,omitempty"` // of processor time
	Rounds    int     `json:"rounds"`
	Turn      string  `json:"turn"`
	Tables    []table `json:"tables"`
}

// run measures all cases and writes the report after each of them, so that nothing measured is lost.
func (b benchmark) run(ctx context.Context, s settings) error {
	if s.rounds < 1 || s.turn <= 0 {
		return fmt.Errorf("--rounds is %d and --turn %v, want both positive", s.rounds, s.turn)
	}
	if s.out == "" {
		s.out = filepath.Join("bench", "results", b.name)
	}
	cases, err := b.cases(ctx, s)
	if err != nil {
		return err
	}
	if cases, err = keep(cases, s.only); err != nil {
		return err
	}
	if b.processor {
		onProcessor(cases)
	}
	r := report{
		Benchmark: b.name,
		Command:   "go run ./bench " + strings.Join(os.Args[1:], " "),
		Date:      time.Now().UTC().Format(time.DateOnly),
		Machine:   thisMachine(),
		Load:      load(),
		Unit:      b.unit,
		Processor: b.processor,
		Rounds:    s.rounds,
		Turn:      s.turn.String(),
	}
	for _, c := range cases {
		before := slices.Clip(r.Tables)
		t, err := measure(ctx, c, s.rounds, s.turn, func(t table) error {
			r.Tables = append(before, t)
			return r.write(s.out)
		})
		if err != nil {
			return err
		}
		fmt.Printf("%s\n%s\n\n", t.Title, t.render(b.unit).Render())
	}
	fmt.Fprintf(os.Stderr, "written: %s.md and %[1]s.json\n", s.out)
	return nil
}

func (r *report) write(path string) error { return writeResults(path, r, "  ", r.markdown()) }

// writeResults writes results to path.json, indented so far, and their page to path.md.
func writeResults(path string, results any, indent string, page []byte) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	data, err := json.MarshalIndent(results, "", indent)
	if err != nil {
		return err
	}
	if err := atomicfile.Write(path+".json", append(data, '\n')); err != nil {
		return err
	}
	return atomicfile.Write(path+".md", page)
}

func (r *report) markdown() []byte {
	var b bytes.Buffer
	fmt.Fprintf(&b, "# Benchmark: %s\n\nMade by `%s` on %s.\n\n%v.\n\n", r.Benchmark, r.Command, r.Date, r.Machine)
	if r.Load != "" {
		fmt.Fprintf(&b, "Load average when it began: %s.\n\n", r.Load)
	}
	of := ""
	if r.Processor {
		of = " of processor time, of all threads"
	}
	fmt.Fprintf(&b, "Rates are %s per second%s, medians of %d rounds of turns of at least %s each. "+
		"“Ratio of k” is the rate of row k by that of each row, within a round: median, and least to greatest.\n", r.Unit, of, r.Rounds, r.Turn)
	for _, t := range r.Tables {
		fmt.Fprintf(&b, "\n## %s\n\n%s\n", t.Title, t.render(r.Unit).RenderMarkdown())
	}
	return b.Bytes()
}

func (t table) render(unit string) prettytable.Writer {
	w := prettytable.NewWriter()
	w.Style().Format.Header = text.FormatDefault
	header := prettytable.Row{"", "contender", unit + "/s"}
	columns := []prettytable.ColumnConfig{{Number: 3, Align: text.AlignRight, AlignHeader: text.AlignRight}}
	for i := range t.References {
		header = append(header, fmt.Sprintf("ratio of %d", i+1))
		columns = append(columns, prettytable.ColumnConfig{Number: 4 + i, Align: text.AlignRight, AlignHeader: text.AlignRight})
	}
	faults := slices.ContainsFunc(t.Rows, func(r row) bool { return r.Faults > 0 })
	if faults {
		header = append(header, "page faults/"+strings.TrimSuffix(unit, "s"))
		columns = append(columns, prettytable.ColumnConfig{Number: 4 + t.References, Align: text.AlignRight, AlignHeader: text.AlignRight})
	}
	w.AppendHeader(append(header, "version"))
	w.SetColumnConfigs(columns)
	for i, r := range t.Rows {
		line := prettytable.Row{i + 1, r.Name, rate(r.Rate)}
		for _, reference := range t.Rows[:t.References] {
			line = append(line, r.ratioOf(reference.Name))
		}
		if faults {
			line = append(line, fmt.Sprintf("%.3g", r.Faults))
		}
		if r.Failed != "" {
			line[2] = "failed"
			line = append(line, r.Failed)
		} else {
			line = append(line, r.Version)
		}
		w.AppendRow(line)
	}
	return w
}

func (r row) ratioOf(reference string) string {
	for _, ratio := range r.Ratios {
		if ratio.Of == reference {
			return fmt.Sprintf("%.2f (%.2f–%.2f)", ratio.Median, ratio.Low, ratio.High)
		}
	}
	return ""
}

// rate prints a rate with three significant figures or all digits before the point.
func rate(v float64) string {
	switch {
	case v >= 1e6:
		return fmt.Sprintf("%.1f M", v/1e6)
	case v >= 100:
		return fmt.Sprintf("%.0f", v)
	}
	return fmt.Sprintf("%.1f", v)
}
