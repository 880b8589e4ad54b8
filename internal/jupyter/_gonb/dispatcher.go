package dispatcher

import (
	"errors"
	"os/exec"
	"sync/atomic"

	"github.com/janpfeifer/gonb/internal/goexec"
	"github.com/janpfeifer/gonb/internal/kernel"
)

// behind is how many of the waiting messages were there when a cell failed or was interrupted.
var behind atomic.Int64

// stopQueue has the cells that wait now not run.
func stopQueue() { behind.Store(int64(len(busyMessagesChan))) }

// stopsOnError reports whether the cells behind one that fails are not to run: they are not unless the front end
// says otherwise.
func stopsOnError(request map[string]any) bool {
	stops, said := request["stop_on_error"].(bool)
	return stops || !said
}

// unlessStopped handles a waiting message. A cell behind one that failed is answered as Jupyter's protocol has it.
func unlessStopped(msg kernel.Message, goExec *goexec.State) error {
	if behind.Load() == 0 {
		return handleBusyMessage(msg, goExec)
	}
	behind.Add(-1)
	if msg.ComposedMsg().Header.MsgType != "execute_request" {
		return handleBusyMessage(msg, goExec)
	}
	if err := kernel.PublishKernelStatus(msg, kernel.StatusBusy); err != nil {
		return err
	}
	if err := msg.Reply("execute_reply", map[string]any{"status": "aborted"}); err != nil {
		return err
	}
	return kernel.PublishKernelStatus(msg, kernel.StatusIdle)
}

// stoppedItself is the exit status of a program that was interrupted, and has said so.
const stoppedItself = 75

// publishError shows how a cell failed, unless an interrupted program has said it.
func publishError(msg kernel.Message, err error, value string, trace []string, name string) error {
	var left *exec.ExitError
	if msg.Kernel().Interrupted.Load() && errors.As(err, &left) && left.ExitCode() == stoppedItself {
		return nil
	}
	return kernel.PublishExecutionError(msg, value, trace, name)
}
