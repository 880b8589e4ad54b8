package main

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"

	"github.com/certspec/certspec/cmd/certspec/internal/cli"
)

// TestMain lets the binary of the tests stand for the program, and for a model that the program talks with over a pipe.
func TestMain(m *testing.M) {
	if len(os.Args) > 2 {
		switch os.Args[1] {
		case "as-main": // with huge pages
			os.Exit(run(os.Args[2:]))
		case "as-program":
			os.Exit(cli.Run(root(), os.Args[2:]))
		case "as-model":
			serveModel(os.Args[2])
			os.Exit(0)
		}
	}
	os.Exit(m.Run())
}

// program is the program with these arguments, as a process of its own.
func program(t *testing.T, args ...string) (cmd *exec.Cmd, stdout, stderr *strings.Builder) {
	t.Helper()
	cmd = exec.Command(os.Args[0], append([]string{"as-program"}, args...)...)
	stdout, stderr = &strings.Builder{}, &strings.Builder{}
	cmd.Stdout, cmd.Stderr = stdout, stderr
	return cmd, stdout, stderr
}

// childModel is the value of --exec for a model of images of 32×32×3 values and ten classes, see serveModel.
func childModel(kind string) string { return fmt.Sprintf("'%s' as-model '%s'", os.Args[0], kind) }

// serveModel speaks engine/pipe/PROTOCOL.md. The class follows from the mean of an image's values.
// All kinds have the same identity: "slow" takes its time, "random" now and then says something
// else ("random30" in 30 % of its answers), "neighbours" gives all the class of the mean of the
// batch, and "majority" the one that most images of the batch have. "nothing" has no finite output,
// "nothing but extremes" only for images of one colour, "often nothing" for a quarter of the noise
// samples. "changes" gives the next class from the 3,000th image on; "silent" answers no more
// behind the 2,000th. "scores" and "softmax" are other models, see serveScores.
func serveModel(kind string) {
	if kind == "scores" || kind == "softmax" {
		serveScores(kind == "softmax")
		return
	}
	served := 0
	const values = 32 * 32 * 3
	hello := `{"name":"means","height":32,"width":32,"channels":3,"layout":"hwc","dtype":"int16","classes":10,"output":"classes","weights":"a formula"}`
	fmt.Print("certspec")
	binary.Write(os.Stdout, binary.LittleEndian, []uint32{1, uint32(len(hello))})
	fmt.Print(hello)
	for {
		head := make([]byte, 16)
		if _, err := io.ReadFull(os.Stdin, head); err != nil {
			return
		}
		n := int(binary.LittleEndian.Uint32(head[8:]))
		pixels := make([]int16, n*values)
		if err := binary.Read(os.Stdin, binary.LittleEndian, pixels); err != nil {
			return
		}
		classes, total := make([]int32, n), 0
		for i := range classes {
			for _, v := range pixels[i*values : (i+1)*values] {
				classes[i] += int32(v)
			}
			total += int(classes[i])
		}
		share := map[string]int{"random": 10, "random30": 30}[kind]
		for i, sum := range classes {
			if kind == "neighbours" {
				sum = int32(total / n)
			}
			classes[i] = ((sum/4000)%10 + 10) % 10
			if share > 0 && rand.IntN(100) < share {
				classes[i] = rand.Int32N(10)
			}
			image := pixels[i*values : (i+1)*values]
			constant := func() bool { return slices.Min(image) == slices.Max(image) }
			if kind == "nothing" || kind == "nothing but extremes" && !constant() || kind == "often nothing" && image[0]%4 == 0 {
				classes[i] = -1
			}
		}
		if kind == "majority" {
			majority(classes)
		}
		if kind == "silent" && served > 2000 {
			time.Sleep(time.Hour)
		}
		if served += n; kind == "changes" && served > 3000 {
			for i := range classes {
				classes[i] = (classes[i] + 1) % 10
			}
		}
		if kind == "slow" {
			time.Sleep(100 * time.Millisecond) // so that the ledger is written to in the middle of a run
		}
		binary.LittleEndian.PutUint32(head[12:], uint32(4*n))
		os.Stdout.Write(head)
		binary.Write(os.Stdout, binary.LittleEndian, classes)
	}
}

// majority gives all images of a batch the class that most of them have.
func majority(classes []int32) {
	votes, best := map[int32]int{}, classes[0]
	for _, c := range classes {
		if votes[c]++; votes[c] > votes[best] {
			best = c
		}
	}
	for i := range classes {
		classes[i] = best
	}
}

// serveScores gives class c the logit −(10 m − c)² at the mean m of an image's values, 1 = white; with softmax it calls the probabilities logits.
func serveScores(softmax bool) {
	const values, classes = 32 * 32 * 3, 10
	hello := `{"name":"scores of means","height":32,"width":32,"channels":3,"layout":"hwc","dtype":"float32","classes":10,"output":"logits","weights":"another formula"}`
	fmt.Print("certspec")
	binary.Write(os.Stdout, binary.LittleEndian, []uint32{1, uint32(len(hello))})
	fmt.Print(hello)
	for {
		head := make([]byte, 16)
		if _, err := io.ReadFull(os.Stdin, head); err != nil {
			return
		}
		n := int(binary.LittleEndian.Uint32(head[8:]))
		pixels := make([]float32, n*values)
		if err := binary.Read(os.Stdin, binary.LittleEndian, pixels); err != nil {
			return
		}
		logits := make([]float32, 0, n*classes)
		for i := range n {
			mean := 0.0
			for _, v := range pixels[i*values : (i+1)*values] {
				mean += float64(v) / values
			}
			for c := range classes {
				d := 10*mean - float64(c)
				logits = append(logits, float32(-d*d))
			}
			if softmax {
				row, sum := logits[len(logits)-classes:], 0.0
				for c, v := range row {
					row[c] = float32(math.Exp(float64(v)))
					sum += math.Exp(float64(v))
				}
				for c := range row {
					row[c] /= float32(sum)
				}
			}
		}
		binary.LittleEndian.PutUint32(head[12:], uint32(4*len(logits)))
		os.Stdout.Write(head)
		binary.Write(os.Stdout, binary.LittleEndian, logits)
	}
}

// commandOf is the command of that name below the root, by itself.
func commandOf(t *testing.T, name string) *cobra.Command {
	t.Helper()
	all := root()
	for _, cmd := range all.Commands() {
		if cmd.Name() == name {
			cmd.SetFlagErrorFunc(all.FlagErrorFunc())
			all.RemoveCommand(cmd)
			return cmd
		}
	}
	t.Fatalf("no command %s", name)
	return nil
}

// commandOutput runs a command and gives its standard output.
func commandOutput(t *testing.T, cmd *cobra.Command, args ...string) (string, error) {
	t.Helper()
	var out bytes.Buffer
	cmd.SetOut(&out)
	cmd.SetArgs(args)
	cmd.SilenceErrors, cmd.SilenceUsage = true, true
	err := cmd.ExecuteContext(t.Context())
	return out.String(), err
}

// outputOf runs the command of that name below the root.
func outputOf(t *testing.T, name string, args ...string) (string, error) {
	t.Helper()
	return commandOutput(t, commandOf(t, name), args...)
}
