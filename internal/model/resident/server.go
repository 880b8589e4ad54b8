package resident

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/certspec/certspec/progress"
)

// Answer is the result of a Server's Answer.
type Answer struct {
	Value  any
	Values [][]byte
}

// Server answers cells.
type Server struct {
	// Answer answers a question whose values r has, until ctx ends. user is the connection, and Gone called when it
	// closes.
	Answer func(ctx context.Context, user any, q Question, values []byte, report progress.Reporter) (Answer, error)
	Gone   func(user any)
	// Stale says in what the program is no longer what a cell would link; else it is empty.
	Stale func() string
}

// Run listens at a socket until the process of the kernel ends, or a cell comes that is not as this process is.
func (s *Server) Run(socket string, kernel int) error {
	var me hello // of the cell that starts this process; its own packages change the environment
	if err := json.NewDecoder(os.Stdin).Decode(&me); err != nil {
		return fmt.Errorf("the cell that starts this process says nothing of itself: %w", err)
	}
	if err := os.Remove(socket); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	listener, err := net.ListenUnix("unix", &net.UnixAddr{Name: socket, Net: "unix"})
	if err != nil {
		return fmt.Errorf("%w; the path of a socket has at most some 100 bytes, and TMPDIR makes part of it", err)
	}
	listener.SetUnlinkOnClose(false) // the socket may be the next process's by then
	defer listener.Close()
	end := sync.OnceFunc(func() { listener.Close() })
	go func() {
		for alive(kernel) {
			time.Sleep(300 * time.Millisecond)
		}
		end()
	}()
	for {
		c, err := listener.Accept()
		if errors.Is(err, net.ErrClosed) {
			return nil
		}
		if err != nil {
			return err
		}
		go func() {
			defer c.Close()
			if !s.serve(c, me) {
				end()
			}
		}()
	}
}

// alive reports whether there is a process.
func alive(pid int) bool {
	p, err := os.FindProcess(pid)
	return err == nil && !errors.Is(p.Signal(syscall.Signal(0)), os.ErrProcessDone)
}

// asked is a question with its values.
type asked struct {
	Question
	values []byte
}

// serve answers one connection; it reports false where this process must end, since its cells are others.
func (s *Server) serve(c net.Conn, me hello) bool {
	r := bufio.NewReaderSize(c, 1<<16)
	var you hello
	if _, err := receive(r, &you); err != nil {
		return true
	}
	if why := s.other(me, you); why != "" {
		_ = send(c, answer{Error: &failure{Text: "the process that holds networks has another " + why}})
		return false
	}
	if send(c, answer{}) != nil {
		return true
	}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	user := new(int)
	defer s.Gone(user)
	questions, buffer := make(chan asked), []byte(nil)
	answered := make(chan struct{}, 1)
	answered <- struct{}{}
	go func() { // reads on while a question is answered: the end of the connection drops it
		defer close(questions)
		defer cancel()
		for {
			var q asked
			size, err := receive(r, &q.Question)
			if err != nil {
				return
			}
			<-answered // the buffer is free
			if cap(buffer) < size {
				buffer = make([]byte, size)
			}
			q.values = buffer[:size]
			if _, err := io.ReadFull(r, q.values); err != nil {
				return
			}
			questions <- q
		}
	}()
	var sending sync.Mutex
	for q := range questions {
		open := true
		report := func(state progress.State) {
			sending.Lock()
			defer sending.Unlock()
			if open {
				_ = send(c, answer{State: &state})
			}
		}
		got, err := s.answer(ctx, user, q, report)
		sending.Lock()
		open = false
		err = reply(c, got, err)
		sending.Unlock()
		if err != nil {
			return true
		}
		answered <- struct{}{}
	}
	return true
}

// other says in what a cell is not as this process, if it is not.
func (s *Server) other(me, you hello) string {
	if you.Folder != me.Folder {
		return "folder: " + me.Folder
	}
	for _, list := range [][2][]string{{me.Environment, you.Environment}, {you.Environment, me.Environment}} {
		for _, v := range list[0] {
			if _, same := slices.BinarySearch(list[1], v); !same {
				name, _, _ := strings.Cut(v, "=")
				return "environment: " + name
			}
		}
	}
	return s.Stale()
}

// answer answers a question; a panic is an error of it, as in a process of its own.
func (s *Server) answer(ctx context.Context, user any, q asked, report progress.Reporter) (got Answer, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("%s: panic: %v", q.Kind, p)
		}
	}()
	return s.Answer(ctx, user, q.Question, q.values, report)
}

func reply(c net.Conn, got Answer, err error) error {
	if err != nil {
		return send(c, answer{Error: failureOf(err)})
	}
	text, err := json.Marshal(got.Value)
	if err != nil {
		return send(c, answer{Error: failureOf(err)})
	}
	return send(c, answer{Value: text}, got.Values...)
}
