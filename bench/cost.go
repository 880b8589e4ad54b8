package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	prettytable "github.com/jedib0t/go-pretty/v6/table"
	"github.com/spf13/cobra"

	"github.com/certspec/certspec/dataset"
	"github.com/certspec/certspec/gomlxmodels/method"
	"github.com/certspec/certspec/gomlxmodels/modelfile"
	"github.com/certspec/certspec/gomlxmodels/train"
	"github.com/certspec/certspec/internal/gomlxmodels/backend"
	"github.com/certspec/certspec/progress"
)

// cost is the time and memory of a run of train.Run in a process of its own.
type cost struct {
	Net     string              `json:"net"`
	Method  string              `json:"method"`
	Images  int                 `json:"images"` // in a step
	Rows    int                 `json:"rows"`
	ViewsBy modelfile.ViewMaker `json:"views_by,omitempty"`
	Compile float64             `json:"compile_seconds"` // the first step, less a usual one
	Step    float64             `json:"step_seconds"`    // median
	Waiting float64             `json:"waiting_share"`   // of the steps' time, the first one's batch included
	Memory  float64             `json:"memory_mib"`      // greatest resident memory of the process, on Linux
}

const costSteps = 6

// costCommand measures every method on every net, each in a process of its own, which is this program again.
func costCommand(s *settings) *cobra.Command {
	var one string
	own := choice{}
	cmd := &cobra.Command{Use: "cost", Short: "Memory and time to compile of training, and the share of a step spent waiting for its batch", Args: cobra.NoArgs}
	cmd.Flags().StringSliceVar(&own.nets, "nets", []string{"resnet20", "small-cnn"}, "nets")
	cmd.Flags().StringSliceVar(&own.methods, "methods", method.Names(), "methods of training")
	cmd.Flags().IntSliceVar(&own.batches, "batches", []int{128}, "rows of a step")
	cmd.Flags().StringVar(&one, "one", "", "measure one training in this process")
	cmd.Flags().MarkHidden("one")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		s.choice = own
		if one != "" {
			c, err := measureCost(cmd.Context(), s.nets[0], s.methods[0], modelfile.ViewMaker(one), s.batches[0], s.backend)
			if err != nil {
				return err
			}
			return json.NewEncoder(os.Stdout).Encode(c)
		}
		return costs(cmd.Context(), *s)
	}
	return cmd
}

func costs(ctx context.Context, s settings) error {
	program, err := os.Executable()
	if err != nil {
		return err
	}
	var list []cost
	for _, net := range s.nets {
		for _, name := range s.methods {
			makers := []modelfile.ViewMaker{"host"}
			if m, err := method.New(name); err != nil {
				return err
			} else if m.Needs().Views > 1 {
				makers = append(makers, "graph")
			}
			for _, by := range makers {
				fmt.Fprintf(os.Stderr, "%s, %s, views by %s\n", net, name, by)
				run := exec.CommandContext(ctx, program, "cost", "--one", string(by), "--nets", net, "--methods", name,
					"--batches", strconv.Itoa(s.batches[0]), "--backend", s.backend)
				run.Stderr = os.Stderr
				out, err := run.Output()
				if err != nil {
					return fmt.Errorf("%s, %s: %w", net, name, err)
				}
				var c cost
				if err := json.Unmarshal(out, &c); err != nil {
					return fmt.Errorf("%s, %s: %w", net, name, err)
				}
				list = append(list, c)
				if err := writeCosts(s, list); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// measureCost trains for some steps.
func measureCost(ctx context.Context, net, name string, by modelfile.ViewMaker, rows int, engine string) (cost, error) {
	t, err := newTraining(net, name, rows, engine)
	if err != nil {
		return cost{}, err
	}
	c := cost{Net: net, Method: name, Images: t.batch, Rows: t.batch * t.rows}
	if t.method.Needs().Views > 1 {
		c.ViewsBy = by
	}
	if _, err := backend.OpenForTraining(engine); err != nil {
		return c, err
	}
	images, err := dataset.Open(t.data + "/train")
	if err != nil {
		return c, err
	}
	test, err := dataset.Open(t.data + "/test")
	if err != nil {
		return c, err
	}
	dir, err := os.MkdirTemp("", "certspec-bench-")
	if err != nil {
		return c, err
	}
	defer os.RemoveAll(dir)
	images, test = images.Subset(dataset.Count(costSteps*t.batch)), test.Subset(dataset.Count(10))
	if _, err := images.Load(ctx); err != nil {
		return c, err
	}
	o := t.options(images, test, nil, filepath.Join(dir, "net"))
	o.Epochs, o.ViewsBy = 1, c.ViewsBy
	var at []time.Time
	o.Progress = func(s progress.State) {
		if done := int(s.Done) / t.batch; done > len(at) { // a report of every step that takes long enough
			at = append(at, make([]time.Time, done-len(at))...)
			at[done-1] = time.Now()
		}
	}
	card, err := train.Run(ctx, o)
	if err != nil {
		return c, err
	}
	c.Waiting = card.Waiting / card.Seconds
	first, last := slices.IndexFunc(at, known), len(at)-1
	c.Step = at[last].Sub(at[first]).Seconds() / float64(last-first)
	c.Compile = card.Seconds - c.Step*costSteps
	c.Memory = peakMemory()
	return c, nil
}

func known(t time.Time) bool { return !t.IsZero() }

// peakMemory is the greatest resident memory of this process in MiB; 0 where the system does not tell.
func peakMemory() float64 {
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return 0
	}
	for line := range strings.Lines(string(status)) {
		if fields := strings.Fields(line); len(fields) > 1 && fields[0] == "VmHWM:" {
			kib, _ := strconv.ParseFloat(fields[1], 64)
			return kib / 1024
		}
	}
	return 0
}

func writeCosts(s settings, list []cost) error {
	w := prettytable.NewWriter()
	w.AppendHeader(prettytable.Row{"net", "method", "images in a step", "rows", "views by", "compile, s", "step, s", "waiting, %", "memory, MiB"})
	for _, c := range list {
		w.AppendRow(prettytable.Row{c.Net, c.Method, c.Images, c.Rows, c.ViewsBy, fmt.Sprintf("%.1f", c.Compile), fmt.Sprintf("%.2f", c.Step),
			fmt.Sprintf("%.1f", 100*c.Waiting), fmt.Sprintf("%.0f", c.Memory)})
	}
	return writeMeasured(s, "cost", fmt.Sprintf("A training of %d steps, each in a process of its own. “Compile” is the "+
		"time of all steps less that of usual ones; “waiting” is the share of the training that was spent waiting for "+
		"batches to be prepared; “memory” is the greatest resident memory of the process.", costSteps), w, list)
}

// writeMeasured writes a table of what was measured, with its list as JSON.
func writeMeasured(s settings, name, note string, w prettytable.Writer, list any) error {
	path := s.out
	if path == "" {
		path = filepath.Join("bench", "results", name)
	}
	command, date, now := "go run ./bench "+strings.Join(os.Args[1:], " "), time.Now().UTC().Format(time.DateOnly), load()
	results := map[string]any{
		"command": command, "date": date, "machine": thisMachine(), "load": now, name: list,
	}
	var b bytes.Buffer
	fmt.Fprintf(&b, "# Benchmark: %s\n\nMade by `%s` on %s.\n\n%v.\n\n", name, command, date, thisMachine())
	if now != "" {
		fmt.Fprintf(&b, "Load average when this was written: %s.\n\n", now)
	}
	fmt.Fprintf(&b, "%s\n\n%s\n", note, w.RenderMarkdown())
	return writeResults(path, results, "  ", b.Bytes())
}
