//go:build unix

package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	prettytable "github.com/jedib0t/go-pretty/v6/table"
	"github.com/spf13/cobra"

	"github.com/certspec/certspec/internal/pyenv"
	"github.com/certspec/certspec/progress"
)

func init() { extra = append(extra, packageCommand) }

// packaged is the output of a contender of package.py: of the rows with a network processor and wall time, of the
// fake device and of memory a ratio.
type packaged struct {
	Contender string  `json:"contender"`
	Processor float64 `json:"processor,omitempty"` // seconds, as those of Wall
	Wall      float64 `json:"wall,omitempty"`
	Ratio     float64 `json:"ratio,omitempty"`
	Given     float64 `json:"given,omitempty"` // MiB of the images, and what Python and the program took beyond the start
	Python    float64 `json:"python,omitempty"`
	Program   float64 `json:"program,omitempty"`
}

type packageContender struct{ name, words string }

var packageContenders = []packageContender{
	{"plain", "plain loop in PyTorch, batch 100"},
	{"module", "certspec.certify, torch.nn.Module"},
	{"onnx", "certspec.certify, the file of export_onnx"},
	{"plain1000", "plain loop in PyTorch, batch 1000"},
	{"art", "ART: PyTorchRandomizedSmoothing.certify, batch 1000"},
	{"ece", "certspec.ece of 10,000 rows"},
	{"torchmetrics", "torchmetrics: MulticlassCalibrationError of 10,000 rows"},
	{"device", "fake device: its own time by that of the run"},
	{"memory", "memory for 10,000 images as float32, by their size"},
}

func packageCommand(s *settings) *cobra.Command {
	net, images, samples, turns := "resnet20", 20, 10_000, 1
	cmd := &cobra.Command{Use: "package", Args: cobra.NoArgs,
		Short: "the Python package beside plain loops: processor time, memory, a fake device"}
	cmd.Flags().StringVar(&net, "net", net, "network")
	cmd.Flags().IntVar(&images, "images", images, "images")
	cmd.Flags().IntVar(&samples, "samples", samples, "noise samples for an image")
	cmd.Flags().IntVar(&turns, "turns", turns, "turns of each contender, in one order and in the other, that are added up")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		return timePackage(cmd.Context(), *s, net, strconv.Itoa(images), strconv.Itoa(samples), turns)
	}
	return cmd
}

func timePackage(ctx context.Context, s settings, net, images, samples string, turns int) error {
	python, scripts, err := pythonSide(ctx)
	if err != nil {
		return err
	}
	art, err := pyenv.Ensure(ctx, pyenv.Soundness, progress.Messages(say))
	if err != nil {
		return err
	}
	packages, err := packagesOf(ctx, art)
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "certspec-bench-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	program := filepath.Join(dir, "certspec")
	if out, err := exec.CommandContext(ctx, "go", "build", "-o", program, "./cmd/certspec").CombinedOutput(); err != nil {
		return fmt.Errorf("%w\n%s", err, out)
	}
	here, err := filepath.Abs("python")
	if err != nil {
		return err
	}
	only, err := regexp.Compile(s.only)
	if err != nil {
		return err
	}
	order := slices.Clone(packageContenders)
	order = slices.DeleteFunc(order, func(c packageContender) bool { return !only.MatchString(c.name) })
	all := slices.Clone(order)
	for range turns - 1 {
		slices.Reverse(order)
		all = append(all, order...)
	}
	var list []packaged
	for _, c := range all {
		say("%s", c.words)
		run := exec.CommandContext(ctx, python, filepath.Join(scripts, "package.py"), c.name, net, images, samples)
		run.Env = append(os.Environ(), "PYTHONPATH="+here, "CERTSPEC_PROGRAM="+program)
		if c.name == "art" {
			run.Env = append(run.Env, "PYTHONPATH="+here+string(os.PathListSeparator)+packages)
		}
		run.Stderr = os.Stderr
		out, err := run.Output()
		if err != nil {
			return fmt.Errorf("%s: %w", c.words, err)
		}
		one := packaged{Contender: c.words}
		// The exporter of PyTorch prints before.
		if err := json.Unmarshal(out[slices.Index(out, '{'):], &one); err != nil {
			return fmt.Errorf("%s: %w: %s", c.words, err, out)
		}
		if k := slices.IndexFunc(list, func(l packaged) bool { return l.Contender == c.words }); k >= 0 {
			list[k].Processor += one.Processor
			list[k].Wall += one.Wall
		} else {
			list = append(list, one)
		}
		if err := writePackage(s, net, images, samples, turns, list); err != nil {
			return err
		}
	}
	return nil
}

func writePackage(s settings, net, images, samples string, turns int, list []packaged) error {
	best := 0.0
	for _, one := range list {
		if strings.HasPrefix(one.Contender, "plain") && (best == 0 || one.Processor < best) {
			best = one.Processor
		}
	}
	w := prettytable.NewWriter()
	w.AppendHeader(prettytable.Row{"contender", "processor, s", "wall, s", "ratio"})
	number := func(v float64, format string) string {
		if v == 0 {
			return ""
		}
		return fmt.Sprintf(format, v)
	}
	for _, one := range list {
		ratio := one.Ratio
		if one.Processor > 0 && best > 0 {
			ratio = one.Processor / best
		}
		w.AppendRow(prettytable.Row{one.Contender, number(one.Processor, "%.2f"), number(one.Wall, "%.2f"),
			number(ratio, "%.2f")})
	}
	return writeMeasured(s, "package", fmt.Sprintf("%s with random weights, %s images, %s noise samples for each and 100 "+
		"for its selection, one thread, the sum of %d turns. Processor time is that of all processes, without start and "+
		"warm-up. The ratio is that to the best plain loop.", net, images, samples, turns), w, list)
}
