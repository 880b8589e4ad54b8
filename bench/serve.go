package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"github.com/certspec/certspec/calib"
)

// workerCommand makes a contender of this very program in a process of its own, whose environment may switch something off.
func workerCommand() *cobra.Command {
	return &cobra.Command{Use: "worker", Hidden: true, Args: cobra.NoArgs, RunE: func(cmd *cobra.Command, _ []string) error {
		return serve(cmd, cmd.InOrStdin(), cmd.OutOrStdout())
	}}
}

// serve speaks the protocol of python/worker.py for the task admm.
func serve(cmd *cobra.Command, in io.Reader, out io.Writer) error {
	requests, answers := json.NewDecoder(in), json.NewEncoder(out)
	if err := answers.Encode(answer{}); err != nil {
		return err
	}
	bins, err := calib.Uniform(calibBins, calib.LeftClosed)
	if err != nil {
		return err
	}
	l := &loop{}
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
			if w.Task != "admm" {
				return fmt.Errorf("task %q, want admm", w.Task)
			}
			if l.step, err = admmWork(cmd.Context(), bins); err != nil {
				return err
			}
			if _, err := l.step(); err != nil {
				return err
			}
		} else {
			l.processor = request.Processor
			units, elapsed, err := l.Run(cmd.Context(), time.Duration(request.Run*float64(time.Second)))
			if err != nil {
				return err
			}
			a = answer{Units: units, Seconds: elapsed.Seconds()}
		}
		if err := answers.Encode(a); err != nil {
			return err
		}
	}
}
