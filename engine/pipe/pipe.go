// Package pipe takes any program as a classifier.Classifier: a PyTorch, JAX or NumPy
// script, or whatever reads batches of images on its standard input and answers with classes or
// scores on its standard output. PROTOCOL.md is the one page that such a program needs.
//
// The certified function is the whole program. An answer may depend on nothing but its batch; a program
// that draws random numbers, or learns from what it sees, is no classifier.
package pipe

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"sync"
	"time"

	"github.com/certspec/certspec/classifier"
	"github.com/certspec/certspec/internal/host"
)

// Options says how to run the program. The zero value works.
type Options struct {
	Processes    int           // how many run at once, each serves one batch at a time; 0: 1
	StartTimeout time.Duration // longest wait for the hello; 0: 5 minutes, since imports and weights can be slow
	BatchTimeout time.Duration // longest wait for the answer to a batch; 0: 5 minutes
	// how often in a row a program that died is started again with the same batch; 0: 3; below 0:
	// never
	Restarts int
	// receives the program's standard error, line by line with its name in front; nil: os.Stderr
	Stderr io.Writer
}

func (o Options) withDefaults() (Options, error) {
	switch {
	case o.Processes < 0:
		return o, fmt.Errorf("pipe: %d processes; expected at least 1", o.Processes)
	case o.StartTimeout < 0 || o.BatchTimeout < 0:
		return o, fmt.Errorf("pipe: time-outs %v and %v; expected more than 0", o.StartTimeout, o.BatchTimeout)
	}
	o.Processes = max(1, o.Processes)
	if o.StartTimeout == 0 {
		o.StartTimeout = 5 * time.Minute
	}
	if o.BatchTimeout == 0 {
		o.BatchTimeout = 5 * time.Minute
	}
	o.Restarts = cmp.Or(o.Restarts, 3)
	if o.Stderr == nil {
		o.Stderr = os.Stderr
	}
	return o, nil
}

// Model is a program as a classifier, safe for concurrent use: calls beyond Options.Processes wait.
type Model struct {
	command []string
	options Options
	log     *log
	slots   chan *slot // those that serve no batch now

	inherited *child // a program that ran already, see Inherited
	taken     bool

	mu    sync.Mutex
	hello *hello // of the first process; nil before it
	info  classifier.Info
}

var _ classifier.Classifier = (*Model)(nil)

// slot is the place of one process.
type slot struct {
	child  *child // nil: not started, or ended
	answer []byte
	payload
}

// Open returns a handle on a program: its file and its arguments, which no shell touches. The program is started when
// it is first needed, in the current folder; errors of the program come from there.
func Open(command []string, options Options) (*Model, error) {
	if len(command) == 0 || command[0] == "" {
		return nil, errors.New("pipe: no program named; expected a command such as python my_model.py")
	}
	options, err := options.withDefaults()
	if err != nil {
		return nil, err
	}
	m := &Model{command: command, options: options, slots: make(chan *slot, options.Processes)}
	m.log = &log{out: options.Stderr, prefix: "[" + filepath.Base(command[0]) + "] "}
	for range options.Processes {
		m.slots <- new(slot)
	}
	return m, nil
}

// String is the command.
func (m *Model) String() string { return strings.Join(m.command, " ") }

// Info describes the model as its program does, and starts it, the first time.
//
// The identity's weights are those that the program names. Otherwise they are the SHA-256 of the command: of its words
// and of the content of the program and of those files that the words name. A program that reads its weights from
// elsewhere has to name them itself.
func (m *Model) Info() (classifier.Info, error) {
	s := <-m.slots
	defer func() { m.slots <- s }()
	info, err := m.start(context.Background(), s)
	if err != nil {
		return info, m.failure(context.Background(), err)
	}
	return info, nil
}

// start makes sure that the slot has a process, and that it is of the same model as all others.
func (m *Model) start(ctx context.Context, s *slot) (classifier.Info, error) {
	if known, info := m.known(); known != nil && s.child != nil {
		return info, nil
	}
	c, err := m.take()
	if err != nil {
		return classifier.Info{}, fmt.Errorf("the program cannot be started: %w", err)
	}
	h, err := c.readHello(ctx, m.options.StartTimeout)
	if err == nil {
		err = m.meet(h)
	}
	if err != nil {
		c.kill()
		return classifier.Info{}, err
	}
	s.child = c
	if m.inherited != nil && h.Ahead {
		m.slots <- &slot{child: c}
	}
	_, info := m.known()
	return info, nil
}

func (m *Model) known() (*hello, classifier.Info) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.hello, m.info
}

// meet takes the first hello, and compares every later one with it.
func (m *Model) meet(h hello) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.hello != nil {
		if !reflect.DeepEqual(*m.hello, h) {
			return fmt.Errorf("started again, it says %+v of itself; before, it said %+v", h, *m.hello)
		}
		return nil
	}
	weights := h.Weights
	if weights == "" {
		var err error
		if m.inherited != nil {
			weights, err = unknown()
		} else {
			weights, err = digest(m.command)
		}
		if err != nil {
			return err
		}
	}
	m.info = classifier.Info{
		Name: h.Name, Shape: h.shape(), Classes: h.Classes, Logits: h.Output == outputLogits,
		Identity: classifier.Identity{
			Weights: weights, Engine: "pipe", EngineVersion: fmt.Sprintf("protocol %d", protocolVersion),
			InstructionSet: host.InstructionSet(),
		},
	}
	if m.info.Name == "" {
		m.info.Name = filepath.Base(m.command[len(m.command)-1])
	}
	m.hello = &h
	return nil
}

// ClassNames are the program's names of its classes, nil where it has none.
func (m *Model) ClassNames() ([]string, error) {
	if _, err := m.Info(); err != nil {
		return nil, err
	}
	h, _ := m.known()
	return h.ClassNames, nil
}

// Preprocessing says in which form the program gets images, and what it says of what it does to them.
func (m *Model) Preprocessing() (string, error) {
	if _, err := m.Info(); err != nil {
		return "", err
	}
	h, _ := m.known()
	form := "values 0 to 1"
	if h.Type == typeInt16 {
		form = "multiples of 1/255 as int16, 0 to 255"
	}
	if h.Preprocessing != "" {
		return fmt.Sprintf("%s (says the program, which gets %s)", h.Preprocessing, form), nil
	}
	return "none: the program gets " + form, nil
}

// failure names the program in an error; an error of the context stays as it is.
func (m *Model) failure(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return fmt.Errorf("pipe: %s: %w", m, err)
}

// Classify implements classifier.Classifier. If the program dies, it is started again and gets the batch again. A
// program that breaks the protocol, or takes longer than the time-out, is killed, and that is an error. Where ctx ends,
// the program that serves the batch is killed.
//
// A program that answers with classes has no scores, and one that does not answer with logits has no logits; wanting
// them is an error. One that takes int16 gets real images only if they lie on the grid of multiples of 1/255.
func (m *Model) Classify(ctx context.Context, batch classifier.Batch, result *classifier.Result) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	h, info := m.known()
	if h == nil {
		var err error
		if info, err = m.Info(); err != nil {
			return err
		}
		h, _ = m.known()
	}
	if err := classifier.Check(info, batch, result); err != nil {
		return err
	}
	if result.Scores != nil && h.Output == outputClasses {
		return fmt.Errorf("pipe: %s answers with classes; scores are wanted, so it has to answer with %s or %s", m,
			outputLogits, outputProbabilities)
	}
	return m.exchange(ctx, func(s *slot) (question, error) {
		content, err := s.encode(h, batch)
		return question{n: batch.N, content: content, size: h.answerSize(batch.N)}, err
	}, func(answer []byte) error { return decode(h, info, batch, answer, result) })
}

// exchange asks a process a question, once one is free, and reads its answer.
func (m *Model) exchange(ctx context.Context, write func(*slot) (question, error), read func([]byte) error) error {
	var s *slot
	select {
	case s = <-m.slots:
	case <-ctx.Done():
		return ctx.Err()
	}
	defer func() { m.slots <- s }()
	q, err := write(s)
	if err != nil {
		return m.failure(ctx, err)
	}
	answer, err := m.ask(ctx, s, q)
	if err == nil {
		err = read(answer)
	}
	if err != nil {
		return m.failure(ctx, err)
	}
	return nil
}

// ask sends a question until a process answers.
func (m *Model) ask(ctx context.Context, s *slot, q question) ([]byte, error) {
	for restarts := 0; ; restarts++ {
		if s.child == nil {
			if _, err := m.start(ctx, s); err != nil {
				return nil, err
			}
		}
		timeout := m.options.BatchTimeout
		if m.inherited != nil {
			timeout *= 2 // it may have a batch to answer before
		}
		answer, err := s.child.ask(ctx, timeout, q, s.answer)
		s.answer = answer
		if err == nil {
			return answer, nil
		}
		s.child.kill()
		s.child = nil
		var died *diedError
		if ctx.Err() != nil || !errors.As(err, &died) || m.options.Restarts < 0 {
			return nil, err
		}
		if restarts == m.options.Restarts {
			return nil, fmt.Errorf("%w (started again %d times for this batch)", err, restarts)
		}
		m.log.line(fmt.Sprintf("ended (%s) before it answered; starting it again", died.status))
	}
}

// Close ends the processes: their standard input is closed, and those that have not ended by themselves after two
// seconds are killed. A later batch starts them again. No call may be running.
func (m *Model) Close() error {
	for range len(m.slots) {
		s := <-m.slots
		if s.child != nil {
			s.child.stop(2 * time.Second)
			s.child = nil
		}
		m.slots <- s
	}
	return nil
}
