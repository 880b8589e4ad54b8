package experiment_test

import (
	"context"
	"fmt"
	"os"
	"strconv"
	"strings"

	"github.com/certspec/certspec/internal/experiment"
)

// lit is a measure: the share of a model's images whose first byte is at least so bright.
type lit struct {
	From int `yaml:"from" json:"from"`
}

func init() {
	experiment.RegisterMeasure("lit", func() experiment.Measure { return &lit{From: 1} })
}

func (*lit) Jobs(_ *experiment.Place, m *experiment.Model) ([]experiment.Job, error) {
	return []experiment.Job{{Kind: "look", Model: m}}, nil
}

func (*lit) Done(p *experiment.Place, j experiment.Job) (bool, error) {
	_, err := os.Stat(p.Result(j.Model, ".lit.txt"))
	return err == nil, nil
}

func (l *lit) Do(ctx context.Context, r *experiment.Runner, j experiment.Job) error {
	if _, err := r.Open(ctx, j.Model); err != nil {
		return err
	}
	images, err := r.Load(ctx, r.Images(j.Model, "lit"))
	if err != nil {
		return err
	}
	text := ""
	for i := range images.Len() {
		if int(images.Grid(i)[0]) >= l.From {
			text += "1"
		} else {
			text += "0"
		}
	}
	return r.Keep(j.Model, ".lit.txt", []byte(text))
}

func (*lit) Cost(c *experiment.Costs, j experiment.Job) error {
	n, err := c.Size(c.Images(j.Model, "lit"))
	if err != nil {
		return err
	}
	return c.Samples(j.Model, n, n)
}

func (l *lit) Fill(f *experiment.TableBuilder, out *experiment.Filled) ([]string, error) {
	for i := range out.Lines {
		text, err := os.ReadFile(f.Result(f.Manifest.Model(out.Lines[i].Models[0]), ".lit.txt"))
		if err != nil {
			continue
		}
		out.Lines[i].Found["lit"] = float64(strings.Count(string(text), "1")) / float64(len(text))
	}
	return []string{"Lit from " + strconv.Itoa(l.From) + "."}, nil
}

func (*lit) Tables(f *experiment.Filled, columns []string, head func(experiment.FilledLine) []any, add func(*experiment.Tabular, string)) {
	t := &experiment.Tabular{Columns: append(columns, "lit")}
	for _, l := range f.Lines {
		if v, ok := l.Found["lit"].(float64); ok {
			t.Rows = append(t.Rows, append(head(l), v))
		}
	}
	add(t, "lit images")
}

// A measure of one's own, asked for by its key in a table.
func ExampleRegisterMeasure() {
	file := "table.yaml"
	text := `tables:
  lit:
    title: Bright images
    rows: [demo/g]
    measure: {lit: {from: 150}}
`
	if err := os.WriteFile(file, []byte(text), 0o666); err != nil {
		fmt.Println(err)
		return
	}
	defer os.Remove(file)
	e, err := experiment.Plan(experiment.Options{Folder: "out", Table: "lit", Tier: "T0", Add: []string{file}})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, job := range e.Jobs {
		fmt.Println(job)
	}
	// Output:
	// train demo/g@1
	// look demo/g@1
}
