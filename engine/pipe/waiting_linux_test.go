package pipe_test

import (
	"os"
	"strings"
	"testing"
	"time"

	"github.com/certspec/certspec/engine/pipe"
)

// A program that waits for input in the place of a hello is refused at once; one that is only slow is not.
func TestWaitsInThePlaceOfAHello(t *testing.T) {
	if _, err := os.ReadFile("/proc/self/syscall"); err != nil {
		t.Skip(err)
	}
	for _, command := range [][]string{{"cat"}, {"sh", "-c", "echo thinking >&2; read line; sleep 60"}} {
		m, err := pipe.Open(command, pipe.Options{StartTimeout: time.Minute})
		if err != nil {
			t.Skip(err)
		}
		_, err = m.Info()
		m.Close()
		if err == nil || !strings.Contains(err.Error(), "said no hello") || command[0] == "sh" && !strings.Contains(err.Error(), "thinking") {
			t.Errorf("%v: %v", command, err)
		}
	}
	m, err := pipe.Open([]string{"sh", "-c", "sleep 2; echo no"}, pipe.Options{StartTimeout: time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	if _, err := m.Info(); err == nil || strings.Contains(err.Error(), "said no hello") {
		t.Errorf("a slow one: %v", err)
	}
}
