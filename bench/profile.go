//go:build cgo && !noonnx && (linux || darwin)

package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	ort "github.com/yalue/onnxruntime_go"

	"github.com/certspec/certspec/engine/onnx"
	"github.com/certspec/certspec/gomlxmodels/modelfile"
	"github.com/certspec/certspec/internal/gomlxmodels/export"
	"github.com/certspec/certspec/internal/onnxfile"
)

// profiled is where ONNX Runtime spends the time of a network, by its own profile, with one thread.
type profiled struct {
	Net        string             `json:"net"`
	Batch      int                `json:"batch"`
	Nodes      int                `json:"nodes"` // of the graph that it is given
	Operators  []profiledOperator `json:"operators"`
	Operations float64            `json:"operations"` // of a batch: two for each multiply-add of convolutions and matrices
	Seconds    float64            `json:"seconds"`    // of processor time for a batch
	Peak       float64            `json:"peak"`       // multiply-adds in registers in turn with the batches, operations per second of processor time; 0: not measured
}

// profiledOperator is all nodes of an operator in the graph that runs.
type profiledOperator struct {
	Name       string  `json:"name"`
	Nodes      int     `json:"nodes"`
	Share      float64 `json:"share"`      // of the time
	Operations float64 `json:"operations"` // share of the operations
}

const (
	profileWarm   = 3
	profileRounds = 10
)

func init() {
	extra = append(extra, func(s *settings) *cobra.Command {
		var names []string
		var batch int
		cmd := &cobra.Command{
			Use:   "profile",
			Short: "Where ONNX Runtime spends the time of a network in float32, and how near it comes to what the processor can do",
			Args:  cobra.NoArgs,
			RunE: func(cmd *cobra.Command, _ []string) error {
				return profile(cmd.Context(), cmp.Or(s.out, "bench/results/profile"), names, batch)
			},
		}
		cmd.Flags().StringSliceVar(&names, "nets", []string{"resnet20", "resnet110", "small-cnn"}, "nets to profile")
		cmd.Flags().IntVar(&batch, "batch", 128, "images in a call")
		return cmd
	})
}

func profile(ctx context.Context, out string, names []string, batch int) error {
	if err := needLibrary(ctx); err != nil {
		return err
	}
	library, err := onnx.Library("")
	if err != nil {
		return err
	}
	ort.SetSharedLibraryPath(library)
	if err := ort.InitializeEnvironment(ort.WithLogLevelFatal()); err != nil {
		return err
	}
	defer ort.DestroyEnvironment()
	began := load()
	var list []*profiled
	for _, name := range names {
		if err := ctx.Err(); err != nil {
			return err
		}
		p, err := profileNet(name, batch)
		if err != nil {
			return fmt.Errorf("profile: %s: %w", name, err)
		}
		list = append(list, p)
	}
	var b bytes.Buffer
	fmt.Fprintf(&b, "# Where the time of a network in float32 goes\n\nMade by `go run ./bench %s` on %s.\n\n%v.\n\nLoad average when it began: %s.\n\n", strings.Join(os.Args[1:], " "), time.Now().UTC().Format(time.DateOnly), thisMachine(), began)
	fmt.Fprintf(&b, "ONNX Runtime %s with one thread, its own profile of %d calls; random weights. An operation is one multiplication or addition of a convolution or a matrix product. The peak is that of multiply-adds\nin registers, in turns with the calls; medians, by processor time.\n\n", ort.GetVersion(), profileRounds)
	for _, p := range list {
		p.print(&b)
	}
	fmt.Print(b.String())
	return writeResults(out, list, " ", b.Bytes())
}

func (p *profiled) print(b *bytes.Buffer) {
	fmt.Fprintf(b, "## %s, batch %d\n\n%.3g operations in %.1f ms of processor time: %.1f · 10⁹ a second", p.Net, p.Batch, p.Operations, 1000*p.Seconds, p.Operations/p.Seconds/1e9)
	if p.Peak > 0 {
		fmt.Fprintf(b, ", %.0f %% of the peak of %.1f", 100*p.Operations/p.Seconds/p.Peak, p.Peak/1e9)
	}
	running := 0
	for _, o := range p.Operators {
		running += o.Nodes
	}
	fmt.Fprintf(b, ". The graph has %d nodes, of which ONNX Runtime makes %d.\n\n| operator | nodes | share of the time | share of the operations |\n| --- | ---: | ---: | ---: |\n", p.Nodes, running)
	for _, o := range p.Operators {
		fmt.Fprintf(b, "| %s | %d | %.2f %% | %.2f %% |\n", o.Name, o.Nodes, 100*o.Share, 100*o.Operations)
	}
	fmt.Fprintln(b)
}

func profileNet(name string, batch int) (*profiled, error) {
	a, err := architecture(name)
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "certspec-bench-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	path, err := writeRandom(dir, a)
	if err != nil {
		return nil, err
	}
	file, err := modelfile.Read(path)
	if err != nil {
		return nil, err
	}
	data, err := export.Encode(file)
	if err != nil {
		return nil, err
	}
	graph, err := onnxfile.Decode(data)
	if err != nil {
		return nil, err
	}
	p := &profiled{Net: name, Batch: batch, Nodes: len(graph.Graph.Nodes)}
	options, err := ort.NewSessionOptions()
	if err != nil {
		return nil, err
	}
	defer options.Destroy()
	if err := options.SetIntraOpNumThreads(1); err != nil {
		return nil, err
	}
	if err := options.EnableProfiling(filepath.Join(dir, "profile")); err != nil {
		return nil, err
	}
	session, err := ort.NewDynamicAdvancedSessionWithONNXData(data, []string{graph.Graph.Inputs[0].Name}, []string{graph.Graph.Outputs[0].Name}, options)
	if err != nil {
		return nil, err
	}
	if err := p.run(session, []int64{int64(batch), int64(a.Shape.Channels), int64(a.Shape.Height), int64(a.Shape.Width)}); err != nil {
		session.Destroy()
		return nil, err
	}
	if err := session.Destroy(); err != nil { // it writes the profile
		return nil, err
	}
	files, err := filepath.Glob(filepath.Join(dir, "profile*.json"))
	if err != nil || len(files) != 1 {
		return nil, fmt.Errorf("%d profiles were written, %v", len(files), err)
	}
	return p, p.read(files[0])
}

// run times calls, in turns with multiply-adds.
func (p *profiled) run(session *ort.DynamicAdvancedSession, dims []int64) error {
	input, err := ort.NewEmptyTensor[float32](ort.NewShape(dims...))
	if err != nil {
		return err
	}
	defer input.Destroy()
	random := rand.New(rand.NewPCG(1, 2))
	for i := range input.GetData() {
		input.GetData()[i] = random.Float32()
	}
	var calls, peaks []float64
	for i := range profileWarm + profileRounds {
		start := processorTime()
		output := []ort.Value{nil}
		if err := session.Run([]ort.Value{input}, output); err != nil {
			return err
		}
		output[0].Destroy()
		middle := processorTime()
		done := multiplyAdds(10_000_000)
		if i >= profileWarm {
			calls, peaks = append(calls, (middle-start).Seconds()), append(peaks, done/max(1e-9, (processorTime()-middle).Seconds()))
		}
	}
	p.Seconds, p.Peak = median(calls), median(peaks)
	return nil
}

// read takes the profile: a list of events, of which those of the category Node with a kernel time count.
func (p *profiled) read(path string) error {
	data, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	var events []struct {
		Cat, Name string
		Dur       float64
		Args      struct {
			Op      string               `json:"op_name"`
			Inputs  []map[string][]int64 `json:"input_type_shape"`
			Outputs []map[string][]int64 `json:"output_type_shape"`
		}
	}
	if err := json.Unmarshal(data, &events); err != nil {
		return err
	}
	runs := map[string]int{}
	times, counts, operations := map[string]float64{}, map[string]int{}, map[string]float64{}
	total := 0.0
	for _, e := range events {
		if e.Cat != "Node" || !strings.HasSuffix(e.Name, "_kernel_time") {
			continue
		}
		if runs[e.Name]++; runs[e.Name] <= profileWarm {
			continue
		}
		times[e.Args.Op] += e.Dur
		total += e.Dur
		if runs[e.Name] == profileWarm+1 {
			counts[e.Args.Op]++
			n := 2 * multiplications(e.Args.Op, shapes(e.Args.Inputs), shapes(e.Args.Outputs))
			operations[e.Args.Op] += n
			p.Operations += n
		}
	}
	if total == 0 || p.Operations == 0 {
		return fmt.Errorf("the profile names no convolution with its time")
	}
	for _, op := range slices.SortedFunc(maps.Keys(times), func(a, b string) int { return cmp.Compare(times[b], times[a]) }) {
		p.Operators = append(p.Operators, profiledOperator{op, counts[op], times[op] / total, operations[op] / p.Operations})
	}
	return nil
}

// shapes takes tensors by their types to their dimensions.
func shapes(tensors []map[string][]int64) (list [][]int64) {
	for _, t := range tensors {
		for _, dims := range t {
			list = append(list, dims)
		}
	}
	return list
}

// multiplications counts the products of a convolution (outputs × channels × window) or of two matrices.
func multiplications(op string, in, out [][]int64) float64 {
	if len(in) < 2 || len(out) == 0 {
		return 0
	}
	n := 1.0
	for _, d := range out[0] {
		n *= float64(d)
	}
	switch {
	case (op == "Conv" || op == "FusedConv") && len(in[1]) == 4:
		for _, d := range in[1][1:] {
			n *= float64(d)
		}
		return n
	case (op == "Gemm" || op == "MatMul") && len(in[0]) == 2:
		return n * float64(in[0][1])
	}
	return 0
}
