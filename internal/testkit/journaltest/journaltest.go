// Package journaltest tears files at every byte, writes them from several processes at once, kills writers and
// fills the disk: what every file must bear that work is added to.
package journaltest

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/certspec/certspec/internal/atomicfile"
)

// User is code that adds items, small numbers, to a file.
type User struct {
	File  string                              // its name in a folder
	Put   func(folder string, item int) error // adds one of 0 to Most
	Items func(folder string) ([]int, error)  // those in the file, each as often as it is there
	// Refuses says that a torn file is an error and stays as it is; else what was torn is dropped.
	Refuses bool
	Value   bool // the file is one value of JSON, not lines
}

// Most is the largest item.
const Most = 47

const variable = "JOURNALTEST"

// Test runs the suite, as the only thing in a test: writers are processes that run that test again.
func Test(t *testing.T, u User) {
	if job := os.Getenv(variable); job != "" {
		u.work(job)
		return
	}
	t.Run("torn", u.torn)
	t.Run("two writers", func(t *testing.T) { u.writers(t, 2) })
	t.Run("eight writers", func(t *testing.T) { u.writers(t, 8) })
	t.Run("killed", u.killed)
	t.Run("full disk", u.full)
}

// work puts items in a process of its own, and says which are safe.
func (u User) work(job string) {
	var folder string
	var from, to, limit int
	var start int64
	if _, err := fmt.Sscanf(job, "%d %d %d %d %s", &from, &to, &limit, &start, &folder); err != nil {
		fmt.Println("bad", err)
		return
	}
	time.Sleep(time.Until(time.UnixMilli(start)))
	if limit > 0 {
		if err := limitFiles(limit); err != nil {
			fmt.Println("bad", err)
			return
		}
	}
	for item := from; item < to; item++ {
		if err := u.Put(folder, item); err != nil {
			fmt.Printf("error %v\n", err)
			return
		}
		fmt.Println("put", item)
	}
}

// process is one that puts some items, from a time on.
func (u User) process(t *testing.T, folder string, from, to, limit int, start time.Time) *exec.Cmd {
	top, _, _ := strings.Cut(t.Name(), "/")
	c := exec.Command(os.Args[0], "-test.run=^"+top+"$", "-test.v=false")
	c.Env = append(os.Environ(), fmt.Sprintf("%s=%d %d %d %d %s", variable, from, to, limit, start.UnixMilli(), folder))
	return c
}

// said are the items that a process put, and its error.
func said(t *testing.T, out []byte) (items []int, err string) {
	t.Helper()
	for line := range strings.Lines(string(out)) {
		word, rest, _ := strings.Cut(strings.TrimSpace(line), " ")
		switch word {
		case "put":
			item, bad := strconv.Atoi(rest)
			if bad != nil {
				t.Fatal(bad)
			}
			items = append(items, item)
		case "error":
			err = rest
		case "bad":
			t.Fatal(rest)
		}
	}
	return items, err
}

func (u User) items(t *testing.T, folder string) []int {
	t.Helper()
	items, err := u.Items(folder)
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(items)
	return items
}

func (u User) put(t *testing.T, folder string, items ...int) {
	t.Helper()
	for _, item := range items {
		if err := u.Put(folder, item); err != nil {
			t.Fatal(err)
		}
	}
}

func upTo(n int) []int {
	all := make([]int, n)
	for i := range all {
		all[i] = i
	}
	return all
}

// torn cuts a file at every byte: what stands in whole lines stays, and work goes on.
func (u User) torn(t *testing.T) {
	const before = 3
	folder := t.TempDir()
	path := filepath.Join(folder, u.File)
	u.put(t, folder, upTo(before)...)
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	head := bytes.Count(text, []byte{'\n'}) - before
	for cut := range len(text) + 1 {
		part := text[:cut]
		if err := atomicfile.Write(path, part); err != nil {
			t.Fatal(err)
		}
		err := u.Put(folder, 5)
		if err != nil && u.Refuses {
			if after, err := os.ReadFile(path); err != nil || !bytes.Equal(after, part) {
				t.Fatalf("cut to %d bytes: refused, and then %q, %v", cut, after, err)
			}
			if whole := bytes.HasSuffix(part, []byte{'\n'}); whole && (!u.Value || cut == len(text)) {
				t.Fatalf("cut to %d bytes, whole lines: %v", cut, err)
			}
			continue
		}
		want := append(upTo(max(0, bytes.Count(part, []byte{'\n'})-head)), 5)
		if u.Value {
			want = append(upTo(before), 5)
		}
		if err != nil {
			t.Fatalf("cut to %d bytes: %v", cut, err)
		}
		if got := u.items(t, folder); !slices.Equal(got, want) {
			t.Fatalf("cut to %d bytes: %v, want %v", cut, got, want)
		}
	}
}

// writers are processes that write at once.
func (u User) writers(t *testing.T, n int) {
	folder := t.TempDir()
	const each = 5
	var running []*exec.Cmd
	outputs := make([]bytes.Buffer, n)
	start := time.Now().Add(300 * time.Millisecond) // all of them have begun by then
	for i := range n {
		c := u.process(t, folder, i*each, (i+1)*each, 0, start)
		c.Stdout, c.Stderr = &outputs[i], &outputs[i]
		if err := c.Start(); err != nil {
			t.Fatal(err)
		}
		running = append(running, c)
	}
	for i, c := range running {
		if err := c.Wait(); err != nil {
			t.Errorf("%v: %s", err, &outputs[i])
		}
		if items, problem := said(t, outputs[i].Bytes()); len(items) != each {
			t.Errorf("writer %d put %v: %s", i, items, problem)
		}
	}
	if got := u.items(t, folder); !slices.Equal(got, upTo(n*each)) {
		t.Errorf("%d writers left %v", n, got)
	}
}

// killed ends a writer at a bad moment: what it said is there, and another goes on.
func (u User) killed(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for range 5 {
		folder := t.TempDir()
		c := u.process(t, folder, 0, Most, 0, time.Time{})
		out, err := c.StdoutPipe()
		if err == nil {
			err = c.Start()
		}
		if err != nil {
			t.Fatal(err)
		}
		var heard bytes.Buffer
		lines := bufio.NewReader(out)
		for range 1 + random.IntN(6) {
			line, err := lines.ReadBytes('\n')
			if heard.Write(line); err != nil {
				t.Fatalf("%v: %s", err, &heard)
			}
		}
		time.Sleep(time.Duration(random.IntN(3000)) * time.Microsecond)
		if err := c.Process.Kill(); err != nil && !errors.Is(err, os.ErrProcessDone) {
			t.Fatal(err)
		}
		if _, err := heard.ReadFrom(lines); err != nil && !errors.Is(err, fs.ErrClosed) {
			t.Fatal(err)
		}
		c.Wait()
		put, problem := said(t, heard.Bytes())
		if problem != "" || !slices.Equal(put, upTo(len(put))) {
			t.Fatalf("put %v: %s", put, problem)
		}
		u.after(t, folder, put)
	}
}

// after checks that the items are there that were put, perhaps with the one that was under way, and that work goes
// on.
func (u User) after(t *testing.T, folder string, put []int) {
	t.Helper()
	u.put(t, folder, Most)
	want := append(slices.Clone(put), Most)
	next := append(upTo(len(put)+1), Most)
	if got := u.items(t, folder); !slices.Equal(got, want) && !slices.Equal(got, next) {
		t.Fatalf("put %v, and then %v", want, got)
	}
}

// full lets files grow to some bytes alone: the error is said, and nothing of before is lost.
func (u User) full(t *testing.T) {
	if err := limitFiles(0); err != nil {
		t.Skip(err)
	}
	folder := t.TempDir()
	u.put(t, folder, 0, 1, 2)
	info, err := os.Stat(filepath.Join(folder, u.File))
	if err != nil {
		t.Fatal(err)
	}
	size := int(info.Size())
	for limit := 1; limit < 2*size; limit += max(1, size/10) {
		folder := t.TempDir()
		out, err := u.process(t, folder, 0, Most, limit, time.Time{}).Output()
		if err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		put, problem := said(t, out)
		if problem == "" {
			t.Fatalf("files of at most %d bytes took %d items", limit, len(put))
		}
		u.after(t, folder, put)
	}
}
