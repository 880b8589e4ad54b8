package main

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/certspec/certspec/cmd/certspec/internal/cli"
	"github.com/certspec/certspec/internal/gomlxmodels/backend"
	"github.com/certspec/certspec/internal/testkit"
)

func TestCommandsWithHugePages(t *testing.T) {
	for line, want := range map[string]bool{
		"train --data synthetic": true, "certify --model m": true, "backend check": true, "experiment run A/table2": true,
		"backend list": false, "ledger show x": false, "version": false, "train --help": false, "": false, "nonsense": false,
		"train --huge-pages=false --data synthetic": false, "train --data synthetic --huge-pages=0": false, "train --huge-pages --data synthetic": true, "certify --huge-pages=true": true,
		"experiment run A/table2 --huge-pages=no": true, // which the command refuses
	} {
		if got := cli.HugePages(root(), strings.Fields(line)); got != want {
			t.Errorf("%q: %v; expected %v", line, got, want)
		}
	}
}

// With huge pages a training ends with the same bytes; arguments, standard streams, exit code and the process remain.
func TestHugePages(t *testing.T) {
	if testing.Short() {
		t.Skip("-short: trains twice in processes of their own")
	}
	engine := "xla:cpu"
	if _, err := backend.Open(engine); err != nil {
		engine = "go"
	}
	train := func(pages, out string) []byte {
		cmd := exec.Command(os.Args[0], "as-main", "train", "--data", "synthetic[max_index=64]", "--net", "small-cnn", "--sigma", "0.25", "--epochs", "1", "--batch", "32", "--engine", engine, "--out", out, "--huge-pages="+pages)
		if text, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, text)
		}
		weights := testkit.Read(t, out+".safetensors")
		return weights
	}
	dir := t.TempDir()
	// The path is part of the file only through its name, which is the same.
	small := train("false", filepath.Join(dir, "a"))
	large := train("true", filepath.Join(dir, "b"))
	if !bytes.Equal(weightsOf(small), weightsOf(large)) {
		t.Error("other weights with huge pages")
	}

	var stdout, stderr bytes.Buffer
	cmd := exec.Command(os.Args[0], "as-main", "predict", "--no such\nflag", "a b")
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if _ = cmd.Run(); cmd.ProcessState.ExitCode() != cli.ExitUsage || stdout.Len() > 0 || !strings.Contains(stderr.String(), "no such") {
		t.Errorf("exit code %d, %q, %q", cmd.ProcessState.ExitCode(), &stdout, &stderr)
	}

	// The process that was started is the one that works, with the setting in its environment, or without where the flag says so.
	for _, on := range []bool{true, false} {
		cmd = exec.Command(os.Args[0], "as-main", "certify", "--exec", childModel("slow"), "--data", "synthetic/test[max_index=50]", "--sigma", "0.25", "--n", "100000",
			"--out", filepath.Join(dir, fmt.Sprint(on)), fmt.Sprintf("--huge-pages=%v", on))
		stderr, err := cmd.StderrPipe()
		if err == nil {
			err = cmd.Start()
		}
		if err != nil {
			t.Fatal(err)
		}
		_, _ = stderr.Read(make([]byte, 1)) // by its first word it works
		environment, _ := os.ReadFile(fmt.Sprintf("/proc/%d/environ", cmd.Process.Pid))
		go func() { _, _ = io.Copy(io.Discard, stderr) }()
		_ = cmd.Process.Signal(os.Interrupt)
		_ = cmd.Wait()
		if found := bytes.Contains(environment, []byte("glibc.malloc.mmap_threshold=4294967296")); found != on {
			t.Errorf("--huge-pages=%v: settings in the environment: %v", on, found)
		}
	}
}

// weightsOf is a safetensors file without its header, which holds times.
func weightsOf(file []byte) []byte {
	var n uint64
	for i := range 8 {
		n |= uint64(file[i]) << (8 * i)
	}
	return file[8+n:]
}
