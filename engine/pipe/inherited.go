package pipe

import (
	"bufio"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
)

// Inherited returns a handle on a program that runs already, usually the one that started this process. It reads
// requests from the other end of requests and writes its hello and its answers into the other end of answers. Both must
// be pipes or sockets. It is asked one batch at a time, or gets the next one ahead if its hello says so. It is never
// started again; Close closes both.
//
// If it does not say what identifies the model, the identity is one that no other run has, since nothing tells whether
// a later process serves the same model. Such a run cannot be resumed.
func Inherited(requests, answers *os.File, options Options) (*Model, error) {
	options, err := options.withDefaults()
	if err != nil {
		return nil, err
	}
	options.Processes, options.Restarts = 1, -1
	m := &Model{command: []string{"calling program"}, options: options, slots: make(chan *slot, 2)}
	m.log = &log{out: options.Stderr, prefix: "[calling program] "}
	m.inherited = &child{stdin: requests, stdout: answers, reader: bufio.NewReaderSize(answers, 1<<16), log: m.log,
		ended: make(chan struct{})}
	m.slots <- new(slot)
	return m, nil
}

// take gives the running program, once.
func (m *Model) take() (*child, error) {
	if m.inherited == nil {
		return startChild(m.command, m.log)
	}
	if m.taken {
		return nil, errors.New("it has ended the conversation, and cannot be started again")
	}
	m.taken = true
	return m.inherited, nil
}

// unknown is the identity of a model that nobody identified.
func unknown() (string, error) {
	var nonce [8]byte
	if _, err := rand.Read(nonce[:]); err != nil {
		return "", err
	}
	return fmt.Sprintf("none stated; this run alone: %x", nonce), nil
}
