package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"
)

// The test program plays the worker where this variable says how.
const role = "CERTSPEC_BENCH_TEST_ROLE"

func TestMain(m *testing.M) {
	if r := os.Getenv(role); r != "" {
		playWorker(r)
		return
	}
	os.Exit(m.Run())
}

func playWorker(role string) {
	if role == "dies" {
		fmt.Fprintln(os.Stderr, "Traceback\nModuleNotFoundError: no torch")
		os.Exit(1)
	}
	fmt.Println(`{"version": "Toy 1.0"}`)
	for lines := bufio.NewScanner(os.Stdin); lines.Scan(); {
		var request struct {
			Prepare *work
			Run     float64
		}
		if err := json.Unmarshal(lines.Bytes(), &request); err != nil {
			fmt.Println(`{"version": "bad request"}`)
		}
		switch {
		case request.Prepare != nil && *request.Prepare != (work{Task: "certify", Net: "resnet20", Batch: 128}):
			fmt.Fprintf(os.Stderr, "asked to prepare %+v\n", *request.Prepare)
			os.Exit(1)
		case request.Prepare != nil:
			fmt.Println(`{"seconds": 0.1}`)
		case role == "babbles":
			fmt.Println("hello")
		case role == "idles":
			fmt.Println(`{"units": 0, "seconds": 1}`)
		default:
			fmt.Printf(`{"units": 500, "seconds": %v}`+"\n", 2*request.Run)
		}
	}
}

func toyWorker(as string) *worker {
	return &worker{command: []string{os.Args[0]}, env: []string{role + "=" + as}, work: work{Task: "certify", Net: "resnet20", Batch: 128}}
}

func TestWorker(t *testing.T) {
	w := toyWorker("works")
	defer w.Close()
	if err := w.Prepare(context.Background()); err != nil {
		t.Fatal(err)
	}
	if w.Version() != "Toy 1.0" {
		t.Errorf("version %q, want Toy 1.0", w.Version())
	}
	for range 2 {
		units, elapsed, err := w.Run(context.Background(), 3*time.Second)
		if err != nil || units != 500 || elapsed != 6*time.Second {
			t.Errorf("got %v units in %v, %v; want 500 in 6s", units, elapsed, err)
		}
	}
}

func TestWorkerFails(t *testing.T) {
	w := toyWorker("dies")
	defer w.Close()
	if err := w.Prepare(context.Background()); err == nil || !strings.Contains(err.Error(), "no torch") {
		t.Errorf("got %v, want the last line of the worker's standard error", err)
	}
	for _, role := range []string{"babbles", "idles"} {
		w := toyWorker(role)
		defer w.Close()
		if err := w.Prepare(context.Background()); err != nil {
			t.Fatal(err)
		}
		if _, _, err := w.Run(context.Background(), time.Second); err == nil {
			t.Errorf("a worker that %s: no error", role)
		}
	}
}
