package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"github.com/certspec/certspec/calib"
	"github.com/certspec/certspec/classifier"
)

// workerCommand makes a contender of this very program in a process of its own, whose environment may switch something off.
func workerCommand() *cobra.Command {
	return &cobra.Command{Use: "worker", Hidden: true, Args: cobra.NoArgs, RunE: func(cmd *cobra.Command, _ []string) error {
		return serve(cmd.Context(), cmd.InOrStdin(), cmd.OutOrStdout())
	}}
}

// serve speaks the protocol of python/worker.py.
func serve(ctx context.Context, in io.Reader, out io.Writer) error {
	requests, answers := json.NewDecoder(in), json.NewEncoder(out)
	if err := answers.Encode(answer{}); err != nil {
		return err
	}
	var c contender
	defer func() {
		if c != nil {
			c.Close()
		}
	}()
	for {
		var request struct {
			Prepare   *work
			Run       float64
			Processor bool
		}
		switch err := requests.Decode(&request); {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return err
		}
		var a answer
		if w := request.Prepare; w != nil {
			next, err := served(ctx, *w)
			if err != nil {
				return err
			}
			c = next
			if err := c.Prepare(ctx); err != nil {
				return err
			}
			a.Version = c.Version()
		} else {
			if c == nil {
				return errors.New("run without prepare")
			}
			if request.Processor {
				onProcessor([]comparison{{entries: []entry{{"", c}}}})
			}
			faults := pageFaults()
			units, elapsed, err := c.Run(ctx, time.Duration(request.Run*float64(time.Second)))
			if err != nil {
				return err
			}
			a = answer{Units: units, Seconds: elapsed.Seconds(), Faults: pageFaults() - faults}
		}
		if err := answers.Encode(a); err != nil {
			return err
		}
	}
}

// served is the contender that does a work.
func served(ctx context.Context, w work) (contender, error) {
	switch w.Task {
	case "admm":
		bins, err := calib.Uniform(calibBins, calib.LeftClosed)
		return &loop{prepare: func(ctx context.Context) (func() (float64, error), error) { return admmWork(ctx, bins) }}, err
	case "train":
		return newTraining(w.Net, w.Method, w.Batch, w.Engine)
	case "good":
		return goodRun(w.Engine)
	case "certify":
		a, err := architecture(w.Net)
		return &gated{
			open: func() (classifier.Classifier, func(), error) { return randomNet(ctx, a, w.Engine) },
			work: func(ctx context.Context, model classifier.Classifier) error {
				return certifyForEver(ctx, model, w.Batch)
			},
		}, err
	}
	return nil, fmt.Errorf("task %q, want admm, train, good or certify", w.Task)
}
