package calib

import (
	"bytes"
	"context"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/certspec/certspec/calib"
	"github.com/certspec/certspec/cmd/certspec/internal/cli"
	"github.com/certspec/certspec/internal/calib/mip"
	"github.com/certspec/certspec/progress"
)

// program is the mixed-integer program of a file's samples.
func (s *sampleFile) program() (*mip.Program, error) {
	if err := s.needIntervals(); err != nil {
		return nil, err
	}
	if i := s.firstOutside(); i >= 0 {
		return nil, fmt.Errorf("%s: the confidence of sample %d is %v, expected a number in its interval [%v, %v]",
			s.name, i+1, s.Confidence[i], s.Lower[i], s.Upper[i])
	}
	return mip.New(s.Correct, s.Lower, s.Upper, s.bins)
}

// countRuns reports runs as they end.
func countRuns(task string, total int) (done func(), end func()) {
	report := cli.Progress()
	state := progress.State{Task: task, Total: float64(total), Unit: "runs", Left: -1}
	done = func() {
		state.Done++
		report(state)
	}
	return done, func() {
		state.Final = true
		report(state)
	}
}

// admmRun is a run with its distance from the optimum.
type admmRun struct {
	*mip.Run
	Gap float64 `json:"gap"`
}

// admmResult is the output of --by admm.
type admmResult struct {
	N    int `json:"n"`
	Bins int `json:"bins"`
	mip.Outcome
	Runs []admmRun `json:"runs"`
}

// admm runs the grid.
func (s *sampleFile) admm(ctx context.Context, steps int) (*admmResult, error) {
	p, err := s.program()
	if err != nil {
		return nil, err
	}
	grid := mip.Grid(s.Confidence)
	for i := range grid {
		grid[i].Steps = steps
	}
	done, end := countRuns("admm", len(grid))
	runs, err := p.Search(ctx, s.Confidence, grid, done)
	if err != nil {
		return nil, err
	}
	end()
	r := &admmResult{N: len(s.Correct), Bins: s.bins.Len()}
	if r.Outcome, err = p.Compare(s.Confidence, runs); err != nil {
		return nil, err
	}
	for _, run := range runs {
		r.Runs = append(r.Runs, admmRun{run, r.Exact - run.Best})
	}
	return r, nil
}

func (r *admmResult) best() *mip.Run {
	best := r.Runs[0].Run
	for _, run := range r.Runs {
		if run.Best > best.Best {
			best = run.Run
		}
	}
	return best
}

func (r *admmResult) print(out io.Writer) error {
	w := cli.Columns(out)
	cli.Fprintf(w, "samples\t%d\nACCE\t%.6f\nexact\t%.6f\ngap\t%.6f\n", r.N, r.ACCE, r.Exact, r.Gap)
	if err := w.Flush(); err != nil {
		return err
	}
	fmt.Fprintln(w, "\nstart\tstep on a\tstep on z\tgrowth\tbest\tat step\tgap")
	for _, run := range r.Runs {
		cli.Fprintf(w, "%s\t%g\t%g\t%g\t%.6f\t%d\t%.6f\n", run.Start, run.StepA, run.StepZ, run.Growth, run.Best,
			run.BestStep, run.Gap)
	}
	return w.Flush()
}

// writeTrace repeats a run and writes what happens in it.
func (s *sampleFile) writeTrace(cmd *cobra.Command, path string, o mip.ADMM) error {
	p, err := s.program()
	if err != nil {
		return err
	}
	o.Record = true
	run, err := p.ADMM(cmd.Context(), s.Confidence, o)
	if err != nil {
		return err
	}
	var text bytes.Buffer
	if err := run.WriteTrace(&text); err != nil {
		return err
	}
	return cli.WriteOut(cmd, path, text.Bytes())
}

// deceResult is the output of --by dece.
type deceResult struct {
	N     int            `json:"n"`
	Bins  int            `json:"bins"`
	DECE  float64        `json:"dece"`
	Exact float64        `json:"exact"`
	Gap   float64        `json:"gap"`
	Runs  []*mip.DECERun `json:"runs"`
}

func (r *deceResult) print(out io.Writer) error {
	w := cli.Columns(out)
	cli.Fprintf(w, "samples\t%d\nruns\t%d\ndECE\t%.6f\nexact\t%.6f\ngap\t%.6f\n", r.N, len(r.Runs), r.DECE, r.Exact,
		r.Gap)
	return w.Flush()
}

// dece runs the trials.
func (s *sampleFile) dece(ctx context.Context, trials int, seed uint64) (*deceResult, error) {
	p, err := s.program()
	if err != nil {
		return nil, err
	}
	done, end := countRuns("dece", trials)
	runs, err := p.SearchDECE(ctx, s.Confidence, mip.Trials(s.Confidence, trials, seed), done)
	if err != nil {
		return nil, err
	}
	end()
	worst, err := new(calib.Workspace).ExactCCE(s.Correct, s.Lower, s.Upper, s.bins)
	if err != nil {
		return nil, err
	}
	r := &deceResult{N: len(s.Correct), Bins: s.bins.Len(), Exact: worst.CCE, Runs: runs}
	for _, run := range runs {
		r.DECE = max(r.DECE, run.Best)
	}
	r.Gap = r.Exact - r.DECE
	return r, nil
}
