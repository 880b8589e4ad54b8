package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/certspec/certspec/classifier"
	"github.com/certspec/certspec/engine"
	"github.com/certspec/certspec/engine/onnx"
	"github.com/certspec/certspec/feedforward"
	"github.com/certspec/certspec/internal/pyenv"
	"github.com/certspec/certspec/progress"
)

// exports is the outcome of the bench of exporters.
type exports struct {
	Versions string     `json:"versions"`
	Side     int        `json:"side"` // of images
	Rows     []exported `json:"rows"`
}

// exported is a network as an exporter writes it, and what is made of the file.
type exported struct {
	Family   string    `json:"family"`
	Network  string    `json:"network"`
	Exporter string    `json:"exporter"`
	Opset    int       `json:"opset,omitempty"`
	Error    string    `json:"error,omitempty"` // of the exporter
	Certify  string    `json:"certify"`
	Layers   string    `json:"layers"`
	Bounds   string    `json:"bounds"`
	File     string    `json:"file,omitempty"`
	Logits   []float64 `json:"logits,omitempty"` // of PyTorch, for one image

	Versions string `json:"versions,omitempty"`
}

// boundedWithin is the radius of the boxes whose bounds are asked for.
const boundedWithin = 1e-6

func exportersCommand(s *settings) *cobra.Command {
	r := exports{}
	cmd := &cobra.Command{
		Use:   "exporters",
		Short: "Ten families of networks by both exporters of PyTorch: certified, read as layers, bounded, refused",
		Args:  cobra.NoArgs,
	}
	cmd.Flags().IntVar(&r.Side, "side", 224, "height and width of images, a multiple of 32")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		if err := r.run(cmd.Context()); err != nil {
			return fmt.Errorf("exporters: %w", err)
		}
		out := cmp.Or(s.out, filepath.Join("bench", "results", "exporters"))
		head := fmt.Sprintf("# Benchmark: exporters\n\nMade by `go run ./bench %s`: %s, random weights, %d × %d pixels.\n\n",
			strings.Join(os.Args[1:], " "), r.Versions, r.Side, r.Side)
		return writeResults(out, r, " ", []byte(head+r.table()))
	}
	return cmd
}

func (r *exports) run(ctx context.Context) error {
	python, scripts, err := pythonSide(ctx)
	if err != nil {
		return err
	}
	more, err := pyenv.Ensure(ctx, pyenv.Exporters, progress.Messages(say))
	if err != nil {
		return err
	}
	packages, err := packagesOf(ctx, more)
	if err != nil {
		return err
	}
	folder, err := os.MkdirTemp("", "exporters")
	if err != nil {
		return err
	}
	defer os.RemoveAll(folder)
	export := exec.CommandContext(ctx, python, filepath.Join(scripts, "exporters.py"), folder, strconv.Itoa(r.Side))
	export.Env = append(os.Environ(), "PYTHONPATH="+packages)
	var errs bytes.Buffer
	export.Stderr = &errs
	out, err := export.StdoutPipe()
	if err != nil {
		return err
	}
	if err := export.Start(); err != nil {
		return err
	}
	for lines := json.NewDecoder(out); lines.More(); {
		var row exported
		if err := lines.Decode(&row); err != nil {
			return err
		}
		if row.Versions != "" {
			r.Versions = row.Versions
			continue
		}
		if row.Error == "" {
			row.try(ctx, r.Side)
			os.Remove(row.File)
		}
		say("%s, %s: %s%s; %s; %s", row.Network, row.Exporter, row.Error, row.Certify, row.Layers, row.Bounds)
		row.File, row.Logits = "", nil
		r.Rows = append(r.Rows, row)
	}
	if err := export.Wait(); err != nil {
		return fmt.Errorf("%w\n%s", err, errs.Bytes())
	}
	return ctx.Err()
}

// try opens a file as certify does, and as layers.
func (e *exported) try(ctx context.Context, side int) {
	m, err := engine.Open(e.File, engine.ONNX(onnx.Options{Threads: 1,
		Card: onnx.Card{Mean: []float64{0, 0, 0}, Std: []float64{1, 1, 1}}}))
	if err != nil {
		e.Certify = err.Error()
		return
	}
	defer m.Close()
	x := make([]float64, 0, side*side*3)
	real := make([]float32, 0, side*side*3)
	for y := range side {
		for at := range side {
			for c := range 3 {
				v := float32((7*c+3*y+5*at)%256) / 255
				x, real = append(x, float64(v)), append(real, v)
			}
		}
	}
	got := classifier.Result{Classes: make([]int32, 1), Logits: make([]float32, len(e.Logits))}
	if err := m.Classify(ctx, classifier.Batch{N: 1, Real: real}, &got); err != nil {
		e.Certify = err.Error()
		return
	}
	most, apart := 0.0, 0.0
	for i, v := range e.Logits {
		most, apart = max(most, math.Abs(v)), max(apart, math.Abs(v-float64(got.Logits[i])))
	}
	if e.Certify = "yes"; !(apart <= 1e-3*most) {
		e.Certify = fmt.Sprintf("outputs differ from PyTorch's by %.2g of %.2g", apart, most)
	}
	n, err := m.FeedForward(ctx)
	var node *feedforward.OperatorError
	switch {
	case errors.As(err, &node):
		e.Layers, e.Bounds = fmt.Sprintf("refused: `%s`", node.Op), "no"
		return
	case err != nil:
		e.Layers, e.Bounds = err.Error(), "no"
		return
	}
	e.Layers, e.Bounds = strconv.Itoa(len(n.Layers())), "no"
	ball, err := feedforward.Ball(x, boundedWithin, feedforward.Rigorous)
	if err != nil {
		e.Bounds = err.Error()
		return
	}
	box, err := n.Intervals(ball, feedforward.Rigorous)
	if err != nil {
		e.Bounds = err.Error()
	} else if box.Lower[0] > math.Inf(-1) && box.Upper[0] < math.Inf(1) {
		e.Bounds = "yes"
	}
}

func (r *exports) table() string {
	var b strings.Builder
	b.WriteString("| family | network | exporter, opset | `certify` | layers | bounds |\n" +
		"| --- | --- | --- | --- | --- | --- |\n")
	for _, e := range r.Rows {
		exporter, certify := fmt.Sprintf("%s, %d", e.Exporter, e.Opset), e.Certify
		if e.Error != "" {
			exporter, certify = e.Exporter, "not exported: "+e.Error
		}
		fmt.Fprintf(&b, "| %s | `%s` | %s | %s | %s | %s |\n", e.Family, e.Network, exporter, certify, e.Layers, e.Bounds)
	}
	return b.String()
}
