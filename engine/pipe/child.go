package pipe

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"sync"
	"time"
)

// child is one running process.
type child struct {
	command *exec.Cmd // nil for one that somebody else started
	stdin   *os.File
	stdout  *os.File
	reader  *bufio.Reader
	log     *log
	ended   chan struct{} // closed when the process was waited for

	mu   sync.Mutex    // of a request
	id   uint64        // of the last request
	last chan struct{} // closed when its answer was read; nil: there is none
}

// question is a request, and how long its answer is.
type question struct {
	kind    uint64 // 0: classify; asksGradients
	n       int    // images
	content []byte
	size    int // bytes of the answer
}

// diedError says that a process ended without being asked to.
type diedError struct {
	status string // e.g. "exit status 1", "signal: killed"
	words  string // the end of its standard error
}

func (e *diedError) Error() string {
	text := fmt.Sprintf("the program ended (%s) before it answered", e.status)
	if e.words != "" {
		text += "; its last words:\n" + e.words
	}
	return text
}

func startChild(command []string, log *log) (*child, error) {
	theirIn, stdin, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	stdout, theirOut, err := os.Pipe()
	if err != nil {
		theirIn.Close()
		stdin.Close()
		return nil, err
	}
	widen(stdin)
	c := &child{
		command: exec.Command(command[0], command[1:]...),
		stdin:   stdin, stdout: stdout, reader: bufio.NewReaderSize(stdout, 1<<16),
		log: log, ended: make(chan struct{}),
	}
	c.command.Stdin, c.command.Stdout, c.command.Stderr = theirIn, theirOut, log
	c.command.WaitDelay = 2 * time.Second // for one that left its standard error to another process
	separate(c.command)
	started := make(chan error, 1)
	go func() {
		// Where a process is bound to die with its parent, that is the thread that started it.
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		err := c.command.Start()
		theirIn.Close()
		theirOut.Close()
		started <- err
		if err == nil {
			c.command.Wait()
			killGroup(c.command.Process) // what the process itself started
			close(c.ended)
		}
	}()
	if err := <-started; err != nil {
		stdin.Close()
		stdout.Close()
		return nil, err
	}
	return c, nil
}

// readHello waits for the hello. A program that waits for input before is no classifier.
func (c *child) readHello(ctx context.Context, timeout time.Duration) (h hello, err error) {
	const look = 250 * time.Millisecond
	ctx, refuse := context.WithCancelCause(ctx)
	defer refuse(nil)
	if c.command != nil {
		go func() {
			for waits := 0; ctx.Err() == nil; time.Sleep(look) {
				if waits++; !waitsForInput(c.command.Process.Pid) {
					waits = 0
				} else if waits == 3 {
					refuse(errors.New("it waits for input and has said no hello: it does not speak certspec's protocol" +
						" (engine/pipe/PROTOCOL.md)" + c.log.lastWords()))
				}
			}
		}()
	}
	err = c.limited(ctx, timeout, "says no hello", func() error {
		h, err = readHello(c.reader)
		return err
	})
	if cause := context.Cause(ctx); err != nil && cause != nil {
		err = cause
	}
	return h, err
}

// ask sends a request and gives the content of its answer, in the memory of answer where that suffices. Calls
// side by side send one request after the other, and read the answers in that order.
func (c *child) ask(ctx context.Context, timeout time.Duration, q question, answer []byte) ([]byte, error) {
	if cap(answer) < q.size {
		answer = make([]byte, q.size)
	}
	answer = answer[:q.size]
	return answer, c.limited(ctx, timeout, fmt.Sprintf("does not answer a batch of %d images", q.n), func() error {
		c.mu.Lock()
		c.id++
		id, before, read := c.id|q.kind, c.last, make(chan struct{})
		c.last = read
		err := writeRequest(c.stdin, id, q.n, q.content)
		c.mu.Unlock()
		defer close(read)
		if before != nil {
			<-before
		}
		if err != nil {
			return io.EOF // nobody reads: systems differ in how they say it
		}
		return readAnswer(c.reader, id, q.n, answer)
	})
}

// limited runs talk with the process, which is killed where ctx or the time ends before.
func (c *child) limited(ctx context.Context, timeout time.Duration, fault string, talk func() error) error {
	limited, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	killed := make(chan struct{})
	stop := context.AfterFunc(limited, func() {
		c.kill()
		close(killed)
	})
	err := talk()
	if !stop() {
		<-killed
		if ctx.Err() != nil {
			return ctx.Err()
		}
		return fmt.Errorf("it %s within %v and was killed%s", fault, timeout, c.log.lastWords())
	}
	if errors.Is(err, io.EOF) {
		c.stop(2 * time.Second)
		if c.command == nil {
			return &diedError{"it closed its end of the pipe", ""}
		}
		return &diedError{c.command.ProcessState.String(), c.log.tail()}
	}
	return err
}

// stop closes the pipes and gives the process a while to end by itself.
func (c *child) stop(patience time.Duration) {
	c.stdin.Close()
	if c.command != nil {
		select {
		case <-c.ended:
		case <-time.After(patience):
		}
	}
	c.kill()
}

// kill ends the process and waits for its end. It may be called more than once.
func (c *child) kill() {
	if c.command == nil { // its life is not ours
		c.stdin.Close()
		c.stdout.Close()
		return
	}
	select {
	case <-c.ended:
	default:
		killGroup(c.command.Process)
	}
	<-c.ended
	c.stdin.Close()
	c.stdout.Close()
}
