// Package serve answers the cells of a notebook with the networks of package model; see package resident.
package serve

import (
	"bytes"
	"context"
	"encoding/gob"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"
	"unsafe"

	"github.com/certspec/certspec/classifier"
	"github.com/certspec/certspec/dataset"
	"github.com/certspec/certspec/gomlxmodels/modelfile"
	"github.com/certspec/certspec/internal/cache"
	"github.com/certspec/certspec/internal/experiment/recipe"
	_ "github.com/certspec/certspec/internal/experiment/settings" // knows the methods of training
	"github.com/certspec/certspec/internal/gomlxmodels/ace"
	"github.com/certspec/certspec/internal/gomlxmodels/perturb"
	"github.com/certspec/certspec/internal/listen"
	"github.com/certspec/certspec/internal/model/resident"
	"github.com/certspec/certspec/internal/onnxfile"
	"github.com/certspec/certspec/model"
	"github.com/certspec/certspec/progress"
)

// idle is how many networks stay loaded that no cell has open.
const idle = 4

// Run answers at a socket until the process of the kernel ends. The program was built from the module at checkout, read
// at a time not before since; an empty checkout is one that does not change.
func Run(socket string, kernel int, checkout string, since time.Time) error {
	s := &server{things: map[int]*thing{}}
	engines := enginesHere()
	server := resident.Server{Answer: s.answer, Gone: s.gone, Stale: func() string {
		switch {
		case enginesHere() != engines:
			return "engine: one was installed"
		case checkout != "" && changed(checkout, since):
			return "source: a file was changed"
		}
		return ""
	}}
	return server.Run(socket, kernel)
}

// server keeps networks from cell to cell.
type server struct {
	mu     sync.Mutex
	loaded []*loaded // the last used one last
	things map[int]*thing
	last   int // name of a thing

	opening sync.Mutex // package listen has one listener
}

// loaded is a network that was opened. A cell gets it again as long as its files are the same.
type loaded struct {
	*model.Model
	key, files string
	users      int
	busy       sync.RWMutex // closing waits for answers
	listener   listener
	info       func() (classifier.Info, error)
}

type thing struct {
	*loaded
	user      any
	gradients classifier.Differentiable // nil: the network
	end       func() error
}

// listener is who hears of a network's long work now.
type listener struct {
	mu     sync.Mutex
	report progress.Reporter
}

func (l *listener) hear(s progress.State) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.report != nil {
		l.report(s)
	}
}

func (l *listener) set(report progress.Reporter) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.report = report
}

func (s *server) answer(ctx context.Context, user any, q resident.Question, values []byte, report progress.Reporter) (
	a resident.Answer, err error) {
	switch q.Kind {
	case resident.Open, resident.Gradients:
		a.Value, err = s.open(ctx, user, q, report)
		return a, err
	case resident.Train:
		return a, s.train(ctx, q, values, report)
	case resident.Confidences:
		a.Value, err = confidences(ctx, q, report)
		return a, err
	case resident.Step:
		var of struct {
			Tier  recipe.Tier
			Model *recipe.Model
		}
		if err := json.Unmarshal(q.Input, &of); err != nil {
			return a, err
		}
		a.Value, err = recipe.StepOf(of.Tier, of.Model)
		return a, err
	}
	s.mu.Lock()
	t := s.things[q.Model]
	s.mu.Unlock()
	if t == nil {
		return a, fmt.Errorf("no network %d is open", q.Model)
	}
	t.busy.RLock()
	defer t.busy.RUnlock()
	switch q.Kind {
	case resident.Classify:
		a.Values, err = t.classify(ctx, q, values)
		return a, err
	case resident.VectorJacobian:
		a.Values, err = t.vectorJacobian(ctx, q, values)
		return a, err
	}
	t.listener.set(report)
	switch q.Kind {
	case resident.Describe:
		var info classifier.Info
		info, err = t.info()
		a.Value = resident.Info{Info: info, Logits: info.Logits}
	case resident.Former:
		a.Value, err = t.FormerIdentities()
	case resident.Preprocessing:
		a.Value, err = t.Preprocessing()
	case resident.ClassNames:
		a.Value, err = t.ClassNames()
	case resident.Layers:
		return t.layers(ctx)
	default:
		err = fmt.Errorf("no question %q", q.Kind)
	}
	return a, err
}

// open gives the connection a network, or its gradients.
func (s *server) open(ctx context.Context, user any, q resident.Question,
	report progress.Reporter) (*resident.Opened, error) {
	l, err := s.load(q, report)
	if err != nil {
		return nil, err
	}
	t, opened := &thing{loaded: l, user: user}, &resident.Opened{Files: l.files}
	release := func() { s.mu.Lock(); l.users--; s.mu.Unlock() }
	l.busy.RLock()
	defer l.busy.RUnlock()
	l.listener.set(report)
	if q.Kind == resident.Gradients {
		e, err := l.Engine()
		if err == nil {
			t.gradients, opened.How, t.end, err = e.Gradients(ctx)
		}
		if err != nil {
			release()
			return nil, err
		}
	} else {
		if opened.Card, err = l.Card(); err == nil {
			opened.Trained, err = l.Trained()
		}
		if err != nil {
			release()
			return nil, err
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.last++
	opened.ID = s.last
	s.things[s.last] = t
	return opened, nil
}

// load finds or opens a network; the caller is one of its users.
func (s *server) load(q resident.Question, report progress.Reporter) (*loaded, error) {
	files, settled := filesOf(q.Path)
	key := q.Path + "\x00" + string(q.Input)
	s.mu.Lock()
	for i, l := range s.loaded {
		if settled && l.key == key && l.files == files {
			s.loaded = append(slices.Delete(s.loaded, i, i+1), l)
			l.users++
			s.mu.Unlock()
			return l, nil
		}
	}
	s.mu.Unlock()
	var in []model.Input
	if err := json.Unmarshal(q.Input, &in); err != nil {
		return nil, err
	}
	l := &loaded{Model: model.Open(q.Path, in...), key: key, files: files, users: 1}
	l.info = sync.OnceValues(func() (classifier.Info, error) { return l.Info() })
	s.opening.Lock()
	listen.Progress = func() progress.Reporter { return l.listener.hear }
	l.listener.set(report)
	_, err := l.Engine()
	s.opening.Unlock()
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if !settled {
		l.files += " at a time of its own" // a later cell opens it anew
	}
	s.loaded = append(s.loaded, l)
	s.forget()
	return l, nil
}

// forget closes what was used longest ago, beyond those that may stay.
func (s *server) forget() {
	left := 0
	for i := len(s.loaded) - 1; i >= 0; i-- {
		l := s.loaded[i]
		if l.users > 0 {
			continue
		}
		if left++; left <= idle && !strings.HasSuffix(l.files, "own") {
			continue
		}
		s.loaded = slices.Delete(s.loaded, i, i+1)
		go func() {
			l.busy.Lock()
			defer l.busy.Unlock()
			_ = l.Close()
		}()
	}
}

// gone takes from a connection what it had open.
func (s *server) gone(user any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for id, t := range s.things {
		if t.user != user {
			continue
		}
		delete(s.things, id)
		t.users--
		if t.end != nil {
			go func() {
				t.busy.Lock()
				defer t.busy.Unlock()
				_ = t.end()
			}()
		}
	}
	s.forget()
}

func (t *thing) classify(ctx context.Context, q resident.Question, values []byte) ([][]byte, error) {
	info, err := t.info()
	if err != nil {
		return nil, err
	}
	width := 4
	if q.Grid {
		width = 2
	}
	if q.N < 1 || len(values) != q.N*width*info.Shape.Len() {
		return nil, fmt.Errorf("%d bytes for %d images of %v", len(values), q.N, info.Shape)
	}
	batch, result := classifier.Batch{N: q.N}, classifier.Result{Classes: make([]int32, q.N)}
	if q.Grid {
		batch.Grid = numbers[int16](values)
	} else {
		batch.Real = numbers[float32](values)
	}
	if q.Scores {
		result.Scores = make([]float32, q.N*info.Classes)
	}
	if q.Logits {
		result.Logits = make([]float32, q.N*info.Classes)
	}
	if err := t.Classify(ctx, batch, &result); err != nil {
		return nil, err
	}
	return [][]byte{resident.Bytes(result.Classes), resident.Bytes(result.Scores), resident.Bytes(result.Logits)}, nil
}

func (t *thing) vectorJacobian(ctx context.Context, q resident.Question, values []byte) ([][]byte, error) {
	info, err := t.info()
	if err != nil {
		return nil, err
	}
	images := 4 * q.N * info.Shape.Len()
	if t.gradients == nil || q.N < 1 || len(values) != images+4*q.N*info.Classes {
		return nil, fmt.Errorf("%d bytes for gradients at %d images of %v", len(values), q.N, info.Shape)
	}
	gradient := make([]float32, images/4)
	err = t.gradients.VectorJacobian(ctx, numbers[float32](values[:images]), numbers[float32](values[images:]), gradient)
	return [][]byte{resident.Bytes(gradient)}, err
}

// numbers are values as numbers.
func numbers[T int16 | float32](values []byte) []T {
	return unsafe.Slice((*T)(unsafe.Pointer(&values[0])), len(values)/int(unsafe.Sizeof(T(0))))
}

func (t *thing) layers(ctx context.Context) (a resident.Answer, err error) {
	e, err := t.Engine()
	if err != nil {
		return a, err
	}
	file, images, n, err := e.Encoded(ctx)
	if err != nil {
		return a, err
	}
	return resident.Answer{Value: resident.File{Name: t.key[:strings.IndexByte(t.key, 0)], Images: images,
		Compared: n.Compared()}, Values: [][]byte{file}}, nil
}

// train trains a network on sets that must be those of the cell.
func (s *server) train(ctx context.Context, q resident.Question, values []byte, report progress.Reporter) error {
	var recipe model.Recipe
	if err := json.Unmarshal(q.Input, &recipe); err != nil {
		return err
	}
	if err := gob.NewDecoder(bytes.NewReader(values)).Decode(&recipe.Options); err != nil {
		return err
	}
	var sets [2]*dataset.Dataset
	for i, set := range q.Sets {
		d, _, err := open(ctx, set)
		if err != nil {
			return err
		}
		sets[i] = d
	}
	recipe.Test = sets[1]
	s.opening.Lock()
	defer s.opening.Unlock()
	listen.Context = func() context.Context { return ctx }
	listen.Progress = func() progress.Reporter { return report }
	listen.Command = func() string { return q.Command }
	m := model.Train(q.Path, sets[0], recipe)
	defer m.Close()
	_, err := m.Engine()
	return err
}

// open opens a set, which must be that of the cell.
func open(ctx context.Context, set resident.Set) (*dataset.Dataset, *dataset.Images, error) {
	d, err := dataset.Open(set.Name)
	if err != nil {
		return nil, nil, fmt.Errorf("%w; a cell trains and attacks on sets that a name tells", err)
	}
	images, err := d.Load(ctx)
	if err == nil && images.Digest != set.Digest {
		err = fmt.Errorf("%s: the images of this name are others than those of the cell; a cell trains and attacks on "+
			"sets that a name tells", set.Name)
	}
	return d, images, err
}

// confidences asks a network about images under attacks.
func confidences(ctx context.Context, q resident.Question, report progress.Reporter) ([]ace.Predictions, error) {
	var attacks []ace.Attack
	if err := json.Unmarshal(q.Input, &attacks); err != nil {
		return nil, err
	}
	_, images, err := open(ctx, q.Sets[0])
	if err != nil {
		return nil, err
	}
	return perturb.ConfidencesAt(ctx, q.Path, "", images, attacks, report)
}

// filesOf says what the files of a network are, as far as the system knows without reading them, and whether that
// tells of every later change: a file that was changed just now might be changed again within a tick of its clock.
func filesOf(path string) (text string, settled bool) {
	var b strings.Builder
	newest, n := time.Time{}, 0
	see := func(path string) {
		info, err := os.Stat(path)
		if err != nil {
			fmt.Fprintf(&b, "%s: none\n", path)
			return
		}
		if info.ModTime().After(newest) {
			newest = info.ModTime()
		}
		fmt.Fprintf(&b, "%s %d %v\n", path, info.Size(), info.ModTime().UnixNano())
		n++
	}
	if onnxfile.IsName(path) { // whose values may stand in other files of its folder
		_ = filepath.WalkDir(filepath.Dir(path), func(path string, d fs.DirEntry, err error) error {
			if err == nil && !d.IsDir() && n < 1000 {
				see(path)
			}
			return nil
		})
	} else {
		for _, one := range []string{path, modelfile.CardPath(path), modelfile.WeightsPath(path)} {
			see(one)
		}
	}
	return b.String(), n < 1000 && time.Since(newest) > time.Second
}

// enginesHere says which engines are installed.
func enginesHere() string {
	var b strings.Builder
	for _, name := range []string{"plugins", "onnxruntime", "openvino"} {
		root, err := cache.Dir(name)
		if err != nil {
			continue
		}
		found, _ := filepath.Glob(filepath.Join(root, "*"))
		more, _ := filepath.Glob(filepath.Join(root, "[^c]*", "*")) // not what was checked
		for _, path := range append(found, more...) {
			if info, err := os.Stat(path); err == nil && info.Mode().IsRegular() {
				fmt.Fprintln(&b, path, info.Size(), info.ModTime().UnixNano())
			}
		}
	}
	return b.String()
}

// changed reports whether a file of a folder of Go files was changed after a second.
func changed(module string, since time.Time) (found bool) {
	now := time.Now() // a clock that goes before ours changes nothing
	_ = filepath.WalkDir(module, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return nil
		}
		name := d.Name()
		if d.IsDir() {
			if path != module && (strings.HasPrefix(name, ".") || name == "testdata" || name == "docs" || name == "notebooks" ||
				name == "python") {
				return filepath.SkipDir
			}
			return nil
		}
		if !slices.Contains([]string{".go", ".c", ".h", ".s", ".mod", ".sum"}, filepath.Ext(name)) ||
			strings.HasSuffix(name, "_test.go") {
			return nil
		}
		if info, err := d.Info(); err == nil && info.ModTime().Unix() > since.Unix() && info.ModTime().Before(now) {
			found = true
			return filepath.SkipAll
		}
		return nil
	})
	return found
}
