// Package nb shows results in the cells of a notebook: tables, figures, progress, and errors that end a cell.
//
//	net, pics := model.Open("net.onnx"), nb.Data("pics")
//	run := nb.Certify(net, pics, nb.Smoothing{Sigma: 0.25})
//	nb.Show(run, nb.Curve(run), nb.Table(run))
//
// In the order of use:
//
//   - [Data] opens data sets and folders of pictures, [Ledger] a ledger.
//   - [Certify], [Sweep], [Calibration], [OOD] and [HeatMap] compute, with progress.
//   - [Table], [Curve], [Reliability], [Gallery] and others make tables and figures of a result; [Live] and [Explore]
//     have sliders.
//   - [Show] shows any of them, and [Save] writes it to a file.
//   - [Must] and [Check] end a cell at an error, [Assert] where something does not hold.
//
// In a GoNB notebook everything is shown in the page. In an ordinary program, tables and text
// go to standard output, figures leave a line there, and progress goes to standard error.
package nb

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"runtime"
	"sync"
	"syscall"
	"time"

	"github.com/janpfeifer/gonb/gonbui"

	"github.com/certspec/certspec/internal/listen"
)

// Must returns v. Where err is not nil it says so, with the line of the cell, and ends the cell.
func Must[T any](v T, err error) T {
	end(err)
	return v
}

// Check ends the cell where err is not nil.
func Check(err error) { end(err) }

// Assert ends the cell where ok is false, with the message of format and args.
func Assert(ok bool, format string, args ...any) {
	if !ok {
		end(fmt.Errorf("assertion failed: "+format, args...))
	}
}

// exit is replaced by tests.
var exit = os.Exit

// end says what went wrong and leaves the program: a notebook cell is a process of its own, and a
// stack trace would hide the one sentence that counts.
func end(err error) {
	if err == nil {
		return
	}
	gonbui.Sync()
	if errors.Is(err, context.Canceled) {
		fmt.Fprintln(os.Stderr, "stopped on request; run the cell again to go on")
		exit(75)
		return
	}
	// GoNB turns the name of its generated file into the number of the cell and the line.
	if _, file, line, ok := runtime.Caller(2); ok {
		fmt.Fprintf(os.Stderr, "%s:%d: ", file, line)
	}
	fmt.Fprintln(os.Stderr, err)
	exit(1)
}

// Context is cancelled when the cell is interrupted, or the kernel that started it is gone.
var Context = sync.OnceValue(func() context.Context {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // a second interrupt ends the process at once
	return ctx
})

func init() {
	listen.Context, listen.Progress = Context, Progress
	if inNotebook {
		go leaveWith(os.Getppid())
	}
}

// leaveWith ends the cell as an interrupt does once the process parent is gone: GoNB that is shut
// down while a cell runs leaves that behind.
func leaveWith(parent int) {
	for os.Getppid() == parent {
		time.Sleep(time.Second)
	}
	if self, err := os.FindProcess(os.Getpid()); err == nil {
		_ = self.Signal(syscall.SIGTERM)
	}
	time.Sleep(10 * time.Second)
	os.Exit(75)
}

// tierVariable is the environment variable that decides how much a notebook computes.
const tierVariable = "CERTSPEC_TIER"

// Tier is how much a notebook computes: "fast", in a minute, for tests, or "paper", the real
// run. It is the environment variable CERTSPEC_TIER, and otherwise the given one.
func Tier(otherwise string) string {
	tier := os.Getenv(tierVariable)
	if tier == "" {
		tier = otherwise
	}
	if tier != "fast" && tier != "paper" {
		end(fmt.Errorf("tier %q (%s=%q): fast or paper expected", tier, tierVariable, os.Getenv(tierVariable)))
	}
	return tier
}

// Pick returns the value for the tier.
func Pick[T any](tier string, fast, paper T) T {
	if tier == "fast" {
		return fast
	}
	return paper
}
