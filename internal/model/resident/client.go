//go:build unix

package resident

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"syscall"
	"time"

	"github.com/gofrs/flock"

	"github.com/certspec/certspec/classifier"
	"github.com/certspec/certspec/progress"
)

// Environment variables of a cell: the kernel's own folder, set by GoNB; its process, and what starts ours, set by the
// script that starts the kernel.
const (
	folderVariable  = "GONB_TMP_DIR"
	kernelVariable  = "CERTSPEC_KERNEL"
	programVariable = "CERTSPEC_SERVE"
)

// errLost says that the process is gone.
var errLost = errors.New("the process that holds networks ended before it answered")

// Handle is a network in the process, safe for concurrent use. A process that ended is started again, and the question
// asked again, once: an answer is a function of the question.
type Handle struct {
	open   Question
	report progress.Reporter

	mu     sync.Mutex
	made   int         // how often it was opened
	holder *connection // keeps the network; asks nothing
	free   []*connection
	opened Opened
	info   *classifier.Info // nil: not asked for yet
}

// OpenHandle opens what a question of kind Open or Gradients names. Reports of long work go to
// report, which may be nil.
func OpenHandle(ctx context.Context, open Question, report progress.Reporter) (*Handle, error) {
	h := &Handle{open: open, report: report}
	if _, err := h.take(ctx); err != nil {
		return nil, err
	}
	return h, nil
}

// Ask asks a question with values. Its answer is decoded into value, and what comes behind it goes to into, whose sizes
// must be those, or is returned where into is empty.
func (h *Handle) Ask(ctx context.Context, q Question, values [][]byte, value any, into ...[]byte) ([]byte, error) {
	for again := false; ; again = true {
		t, err := h.take(ctx)
		if err != nil {
			return nil, err
		}
		q.Model = t.id
		rest, err := t.ask(ctx, q, h.report, values, value, into)
		if !errors.Is(err, errLost) {
			h.give(t, ctx.Err() == nil)
			return rest, err
		}
		h.lose(t)
		if again {
			return nil, fmt.Errorf("%w%s", err, lastWords())
		}
		h.report.Say("%v%s; it is started again", err, lastWords())
	}
}

// Info describes the network, and is asked for once.
func (h *Handle) Info(ctx context.Context) (classifier.Info, error) {
	h.mu.Lock()
	known := h.info
	h.mu.Unlock()
	if known != nil {
		return *known, nil
	}
	var told Info
	if _, err := h.Ask(ctx, Question{Kind: Describe}, nil, &told); err != nil {
		return classifier.Info{}, err
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	told.Info.Logits = told.Logits
	h.info = &told.Info
	return told.Info, nil
}

// Opened is the process's account of the network.
func (h *Handle) Opened() Opened {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.opened
}

// Close lets the network go.
func (h *Handle) Close() error {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.drop()
	return nil
}

func (h *Handle) drop() {
	if h.holder != nil {
		h.holder.Close()
	}
	for _, c := range h.free {
		c.Close()
	}
	h.holder, h.free = nil, nil
}

// taken is a connection for one question.
type taken struct {
	*connection
	id, made int
}

func (h *Handle) take(ctx context.Context) (taken, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.holder == nil {
		if err := h.reopen(ctx); err != nil {
			return taken{}, err
		}
	}
	if n := len(h.free); n > 0 {
		c := h.free[n-1]
		h.free = h.free[:n-1]
		return taken{c, h.opened.ID, h.made}, nil
	}
	c, err := connect(ctx, h.report)
	return taken{c, h.opened.ID, h.made}, err
}

// reopen opens the network, which must be the one that it was.
func (h *Handle) reopen(ctx context.Context) error {
	for again := false; ; again = true {
		c, err := connect(ctx, h.report)
		if err != nil {
			return err
		}
		var opened Opened
		_, err = c.ask(ctx, h.open, h.report, nil, &opened, nil)
		switch {
		case errors.Is(err, errLost) && !again:
			c.Close()
			continue
		case err != nil:
			c.Close()
			return err
		case h.made > 0 && opened.Files != h.opened.Files:
			c.Close()
			return fmt.Errorf("%s was replaced by another network since the cell opened it: run the cell again", h.open.Path)
		}
		if h.info != nil {
			info, err := c.info(ctx, opened.ID, h.report)
			if err == nil && info != *h.info {
				err = fmt.Errorf("%s runs on %+v since the process was started again, and ran on %+v: run the cell again",
					h.open.Path, info.Identity, h.info.Identity)
			}
			if err != nil {
				c.Close()
				return err
			}
		}
		h.holder, h.opened = c, opened
		h.made++
		return nil
	}
}

// give takes a connection back, if it is whole.
func (h *Handle) give(t taken, whole bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if whole && h.holder != nil && t.made == h.made {
		h.free = append(h.free, t.connection)
		return
	}
	t.Close()
}

// lose forgets a process that is gone.
func (h *Handle) lose(t taken) {
	h.mu.Lock()
	defer h.mu.Unlock()
	t.Close()
	if t.made == h.made {
		h.drop()
	}
}

// Ask asks a question that belongs to no open network. Its answer is decoded into value, which may be nil.
func Ask(ctx context.Context, q Question, report progress.Reporter, value any, values ...[]byte) error {
	c, err := connect(ctx, report)
	if err != nil {
		return err
	}
	defer c.Close()
	_, err = c.ask(ctx, q, report, values, value, nil)
	if errors.Is(err, errLost) {
		err = fmt.Errorf("%w%s", err, lastWords())
	}
	return err
}

// connection is one to the process.
type connection struct {
	net.Conn
	r *bufio.Reader
}

// ask asks, and waits for the last message of the answer. The end of ctx closes the connection.
func (c *connection) ask(ctx context.Context, q Question, report progress.Reporter, values [][]byte, value any,
	into [][]byte) ([]byte, error) {
	stop := context.AfterFunc(ctx, func() { c.Close() })
	defer stop()
	lost := func(err error) error {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		return fmt.Errorf("%w (%v)", errLost, err)
	}
	if err := send(c, q, values...); err != nil {
		return nil, lost(err)
	}
	for {
		var a answer
		size, err := receive(c.r, &a)
		if err != nil {
			return nil, lost(err)
		}
		if a.State != nil {
			if report != nil {
				report(*a.State)
			}
			continue
		}
		if a.Error != nil {
			return nil, a.Error
		}
		var rest []byte
		if into == nil && size > 0 {
			rest = make([]byte, size)
			into = [][]byte{rest}
		}
		for _, part := range into {
			size -= len(part)
		}
		if size != 0 {
			return nil, fmt.Errorf("the process that holds networks answers %q with %d bytes too many", q.Kind, size)
		}
		for _, part := range into {
			if _, err := io.ReadFull(c.r, part); err != nil {
				return nil, lost(err)
			}
		}
		if value == nil {
			return rest, nil
		}
		return rest, json.Unmarshal(a.Value, value)
	}
}

func (c *connection) info(ctx context.Context, id int, report progress.Reporter) (classifier.Info, error) {
	var told Info
	_, err := c.ask(ctx, Question{Kind: Describe, Model: id}, report, nil, &told, nil)
	told.Info.Logits = told.Logits
	return told.Info, err
}

// connect connects to the process of this kernel, and starts it where it is not there or not as this cell is.
func connect(ctx context.Context, report progress.Reporter) (*connection, error) {
	if os.Getenv(folderVariable) == "" || os.Getenv(programVariable) == "" {
		return nil, fmt.Errorf("this program was built with the tag cell, for the Jupyter kernel named certspec, and runs "+
			"outside of it: %s or %s is not set", folderVariable, programVariable)
	}
	me, err := ours()
	if err != nil {
		return nil, err
	}
	if c, err := greet(ctx, me); err == nil {
		return c, nil
	}
	lock := flock.New(inFolder("serve.lock"))
	if err := lock.Lock(); err != nil {
		return nil, err
	}
	defer lock.Unlock()
	if c, err := greet(ctx, me); err == nil { // another cell has started it meanwhile
		return c, nil
	}
	return start(ctx, me, report)
}

func inFolder(name string) string { return filepath.Join(os.Getenv(folderVariable), name) }

// greet dials the process; it takes a cell of its own environment, and ends for another.
func greet(ctx context.Context, me hello) (*connection, error) {
	dialed, err := (&net.Dialer{}).DialContext(ctx, "unix", inFolder("serve.sock"))
	if err != nil {
		return nil, err
	}
	c := &connection{dialed, bufio.NewReaderSize(dialed, 1<<16)}
	var a answer
	if err = send(c, me); err == nil {
		_, err = receive(c.r, &a)
	}
	if err == nil && a.Error != nil {
		err = a.Error
	}
	if err != nil {
		c.Close()
		return nil, err
	}
	return c, nil
}

// start starts the process, in a group of its own: an interrupt of the cell drops what the cell asked, no more.
func start(ctx context.Context, me hello, report progress.Reporter) (*connection, error) {
	words, err := os.OpenFile(inFolder("serve.log"), os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, err
	}
	defer words.Close()
	cmd := exec.Command(os.Getenv(programVariable), "--kernel", os.Getenv(kernelVariable), inFolder("serve.sock"))
	text, err := json.Marshal(me)
	if err != nil {
		return nil, err
	}
	cmd.Stdin, cmd.Stdout, cmd.Stderr = bytes.NewReader(text), words, words
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("the process that holds networks cannot be started: %w", err)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	said := time.AfterFunc(2*time.Second, func() { report.Say("starting the process that holds networks") })
	defer said.Stop()
	var refused *failure
	for {
		c, err := greet(ctx, me)
		if err == nil {
			return c, nil
		}
		_ = errors.As(err, &refused)
		select {
		case err := <-ended:
			if err == nil && refused != nil {
				err = refused
			}
			return nil, fmt.Errorf("the process that holds networks cannot be started: %w%s", err, lastWords())
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-time.After(3 * time.Millisecond):
		}
	}
}

// lastWords are what the process said last, as the end of a sentence.
func lastWords() string {
	text, err := os.ReadFile(inFolder("serve.log"))
	if err != nil || len(text) == 0 {
		return ""
	}
	return fmt.Sprintf("; it said %q", text[max(0, len(text)-500):])
}
