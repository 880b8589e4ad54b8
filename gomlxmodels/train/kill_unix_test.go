//go:build unix

package train

import (
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/certspec/certspec/gomlxmodels/modelfile"
)

const (
	killDirVariable = "TRAIN_TEST_DIR"
	killOutVariable = "TRAIN_TEST_OUT"
)

// A process that is killed at random moments, and started again, ends with the same weights.
func TestKill(t *testing.T) {
	if dir := os.Getenv(killDirVariable); dir != "" {
		o := options(t, dir, os.Getenv(killOutVariable))
		o.afterStep = func(int) { fmt.Println("step") }
		run(t, o)
		return
	}
	dir := t.TempDir()
	pictures(t, dir)
	whole := run(t, options(t, dir, filepath.Join(t.TempDir(), "whole")))

	random := rand.New(rand.NewPCG(5, 6))
	out := filepath.Join(t.TempDir(), "killed")
	kills := 0
	for !modelfile.Exists(out) {
		child := exec.Command(os.Args[0], "-test.run=^TestKill$")
		child.Env = append(os.Environ(), killDirVariable+"="+dir, killOutVariable+"="+out)
		if kills >= 3 {
			if text, err := child.CombinedOutput(); err != nil {
				t.Fatalf("%v: %s", err, text)
			}
			continue
		}
		steps, err := child.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := child.Start(); err != nil {
			t.Fatal(err)
		}
		// More than an epoch of steps from the second life on, so that the runs get on.
		one := make([]byte, len("step\n")*(1+random.IntN(8)))
		for read := 0; read < len(one); {
			n, err := steps.Read(one[read:])
			if err != nil {
				break
			}
			read += n
		}
		time.Sleep(time.Duration(random.IntN(5)) * time.Millisecond)
		child.Process.Kill()
		child.Wait()
		kills++
	}
	card, err := modelfile.ReadCard(out)
	if err != nil {
		t.Fatal(err)
	}
	if card.Weights != whole.Weights {
		t.Errorf("after %d kills the weights are %s, without %s", kills, card.Weights, whole.Weights)
	}
}
