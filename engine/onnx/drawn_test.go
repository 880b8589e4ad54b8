//go:build cgo && !noonnx && (linux || darwin)

package onnx

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"maps"
	"math"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	ort "github.com/yalue/onnxruntime_go"

	"github.com/certspec/certspec/feedforward"
	"github.com/certspec/certspec/internal/onnxfile"
	"github.com/certspec/certspec/internal/testkit"
	"github.com/certspec/certspec/internal/testkit/drawnet"
)

var (
	drawnSeed  = flag.Int64("drawn", -1, "the seed of the one network that TestDrawnNetworks draws")
	drawnCount = flag.Uint64("networks", 300, "how many networks TestDrawnNetworks draws")
	drawnFrom  = flag.Uint64("from", 0, "the seed of the first of them")
)

// drawnPoints is at how many inputs a drawn network meets the runtime: each alone and, where the file allows
// it, all in one batch.
const drawnPoints = 40

// executed is a drawn network on ONNX Runtime.
type executed struct {
	name    string
	net     *drawnet.Network
	session ortSession
}

func execute(net *drawnet.Network, name string, level ort.GraphOptimizationLevel) (*executed, error) {
	settings, err := ort.NewSessionOptions()
	if err != nil {
		return nil, err
	}
	defer settings.Destroy()
	if err := settings.SetIntraOpNumThreads(1); err != nil {
		return nil, err
	}
	if err := settings.SetGraphOptimizationLevel(level); err != nil {
		return nil, err
	}
	g := &net.Model.Graph
	session, err := ort.NewDynamicAdvancedSessionWithONNXData(onnxfile.Encode(net.Model), []string{g.Inputs[0].Name},
		[]string{g.Outputs[0].Name}, settings)
	if err != nil {
		return nil, err
	}
	return &executed{name, net, ortSession{session}}, nil
}

// at gives the outputs for a batch of points.
func (e *executed) at(points ...[]float64) ([][]float64, error) {
	in := newArray(e.net.Type, batchOf(len(points), e.net.Input)...)
	for i, p := range points {
		for j, v := range p {
			switch at := i*len(p) + j; e.net.Type {
			case onnxfile.Float32:
				in.floats[at] = float32(v)
			case onnxfile.Float64:
				in.doubles[at] = v
			default:
				in.halves[at] = drawnet.Half(v)
			}
		}
	}
	var values []float64
	if e.net.Type == onnxfile.Float16 { // of which the binding hands out none of its own
		out := newArray(e.net.Type, batchOf(len(points), e.net.Output[min(1, len(e.net.Output)):])...)
		if err := e.session.evaluate(in, out); err != nil {
			return nil, err
		}
		for _, h := range out.halves {
			values = append(values, drawnet.FromHalf(h))
		}
	} else {
		out, err := e.session.discover(in, 1)
		if err != nil {
			return nil, err
		}
		values = out[0].float64s()
	}
	if len(values) == 0 || len(values)%len(points) != 0 {
		return nil, fmt.Errorf("%d outputs of %d points", len(values), len(points))
	}
	return slices.Collect(slices.Chunk(values, len(values)/len(points))), nil
}

func batchOf(n int, dims []int) []int64 {
	out := []int64{int64(n)}
	for _, d := range dims {
		out = append(out, int64(d))
	}
	return out
}

type verdict struct {
	Invalid string   // why the runtime does not run it
	Refused string   // why the reader does not take it
	Wrong   []string // claims that do not hold
}

// examine compares what is claimed of a network with what ONNX Runtime makes of it at some points. The reader
// sees another file than the runtime where there is one.
func examine(net *drawnet.Network, seen *onnxfile.Model, points int) (v verdict) {
	var runs []*executed
	for _, how := range []struct {
		name  string
		level ort.GraphOptimizationLevel
	}{{"as written", ort.GraphOptimizationLevelDisableAll}, {"optimised", ort.GraphOptimizationLevelEnableAll}} {
		e, err := execute(net, how.name, how.level)
		if err == nil {
			defer e.session.close()
			_, err = e.at(net.Lower)
		}
		switch {
		case err == nil:
			runs = append(runs, e)
		case runs == nil:
			return verdict{Invalid: err.Error()}
		}
	}
	defer func() {
		if r := recover(); r != nil {
			v.Wrong = append(v.Wrong, fmt.Sprintf("panic: %v", r))
		}
	}()
	if seen == nil {
		seen = net.Model
	}
	model, err := onnxfile.Decode(onnxfile.Encode(seen))
	if err != nil {
		return verdict{Refused: err.Error()}
	}
	layers, err := feedforward.FromONNX("drawn.onnx", model, nil)
	if err != nil {
		return verdict{Refused: err.Error()}
	}
	c := &claims{net: net, layers: layers, runs: runs, random: rand.New(rand.NewPCG(7, uint64(len(net.Lower))))}
	c.meet(points)
	return verdict{Wrong: c.wrong}
}

// claims are bounds on linear functions of a network's outputs.
type claims struct {
	net    *drawnet.Network
	layers *feedforward.Network
	runs   []*executed
	random *rand.Rand
	last   string // Softmax or LogSoftmax where the reader took it off
	k      int    // outputs
	rows   []float64
	wrong  []string
}

// met is a set of inputs with bounds on the rows and on the confidence, by method.
type met struct {
	name       string
	bounds     map[feedforward.Method][]float64
	confidence map[feedforward.Method]feedforward.Confidence
}

var everyMethod = []feedforward.Method{feedforward.IBP, feedforward.CROWN, feedforward.FullCROWN, feedforward.AlphaCROWN,
	feedforward.Split}

func (c *claims) fail(format string, args ...any) {
	c.wrong = append(c.wrong, fmt.Sprintf(format, args...))
}

// describe says which functions are bounded: each output, its negative, and differences of two.
func (c *claims) describe() {
	c.k = c.layers.Outputs()
	c.last = c.layers.Head()
	row := func(plus, minus int) {
		r := make([]float64, c.k)
		if plus >= 0 {
			r[plus] = 1
		}
		if minus >= 0 {
			r[minus] = -1
		}
		c.rows = append(c.rows, r...)
	}
	for k := range c.k {
		row(k, -1)
		row(-1, k)
	}
	for k := range c.k * c.k {
		if k/c.k != k%c.k && (c.last != "" || c.k < 5) {
			row(k/c.k, k%c.k)
		}
	}
}

// bound bounds the rows over a set of inputs.
func (c *claims) bound(name string, set feedforward.Set, methods ...feedforward.Method) met {
	m := met{name, map[feedforward.Method][]float64{}, map[feedforward.Method]feedforward.Confidence{}}
	for _, method := range methods {
		ctx, offsets := context.Background(), make([]float64, len(c.rows)/c.k)
		bounds, err := c.layers.LinearBounds(ctx, set, c.rows, offsets, method, feedforward.Rigorous)
		if err == nil && c.k > 1 && c.last == "" {
			m.confidence[method], err = c.layers.Confidence(ctx, c.net.Lower, set, method, feedforward.Rigorous)
		}
		if err != nil {
			c.fail("%s over the %s: %v", method, name, err)
			continue
		}
		m.bounds[method] = bounds
	}
	return m
}

// meet evaluates the ends and the middle of the box, corners, random points, points that gradients lead to, and
// some of a segment through the box.
func (c *claims) meet(points int) {
	c.describe()
	lower, upper := c.net.Lower, c.net.Upper
	box := c.bound("box", feedforward.Box{Lower: lower, Upper: upper}, everyMethod...)
	some := [][]float64{lower, upper, c.inside(func(int) float64 { return 0.5 })}
	for len(some) < points*2/3 {
		corner := len(some)%2 == 0
		some = append(some, c.inside(func(int) float64 {
			if corner || c.random.IntN(4) == 0 {
				return float64(c.random.IntN(2))
			}
			return c.random.Float64()
		}))
	}
	for i, p := range some {
		c.alone(p, box, i < 2)
	}
	for len(some) < points && len(c.wrong) == 0 {
		row := c.random.IntN(len(c.rows)/c.k) * c.k
		for _, p := range c.climb(some[c.random.IntN(len(some))], c.rows[row:row+c.k]) {
			some = append(some, p)
			c.alone(p, box, false)
		}
	}
	if c.net.Type == onnxfile.Float32 {
		c.segment()
	}
	for _, run := range c.runs {
		if !c.net.OpenBatch {
			break
		}
		out, err := run.at(some...)
		for i := range out { // none where there is an error: a file may say that it takes any batch and not do so
			c.compare(run.name+", in a batch", some[i], out[i], box)
		}
		_ = err
	}
}

// inside is the point at these parts of the way through the box, rounded to what the input can be.
func (c *claims) inside(part func(i int) float64) []float64 {
	p := make([]float64, len(c.net.Lower))
	for i, lo := range c.net.Lower {
		hi := c.net.Upper[i]
		v := float64(float32(lo + (hi-lo)*part(i)))
		if c.net.Type == onnxfile.Float16 {
			v = drawnet.FromHalf(drawnet.Half(v))
		}
		p[i] = min(max(v, lo), hi)
	}
	return p
}

// climb moves to corners by the sign of the gradient of a row, and then exchanges single values.
func (c *claims) climb(from, row []float64) (found [][]float64) {
	value := func(p []float64) float64 {
		out, err := c.runs[len(c.runs)-1].at(p)
		if err != nil || c.last != "" || len(out[0]) != len(row) {
			return 0
		}
		return dot(row, out[0])
	}
	for range 2 {
		_, gradient, err := c.layers.VectorJacobian(from, func([]float64) []float64 { return row })
		if err != nil {
			break
		}
		from = slices.Clone(from)
		for i, g := range gradient {
			if g > 0 {
				from[i] = c.net.Upper[i]
			} else if g < 0 {
				from[i] = c.net.Lower[i]
			}
		}
		found = append(found, from)
	}
	most := value(from)
	for range 2 {
		p := slices.Clone(from)
		i := c.random.IntN(len(p))
		if p[i] = c.net.Lower[i]; c.random.IntN(2) == 0 {
			p[i] = c.net.Upper[i]
		}
		if v := value(p); v > most {
			from, most = p, v
		}
		found = append(found, p)
	}
	return found
}

// alone meets the runtime at one point: over the box, and over the point itself.
func (c *claims) alone(p []float64, box met, all bool) {
	methods := everyMethod
	if !all {
		methods = methods[:1]
	}
	point := c.bound("point", feedforward.Box{Lower: p, Upper: p}, methods...)
	if exact, err := c.layers.Forward(p); err == nil && c.last == "" {
		c.compare("the layers", p, exact, box)
	}
	for _, run := range c.runs {
		out, err := run.at(p)
		if err != nil {
			continue
		}
		c.compare(run.name, p, out[0], box)
		c.compare(run.name, p, out[0], point)
	}
}

// segment meets the runtime along a line through the middle of the box.
func (c *claims) segment() {
	s := feedforward.Segment{Epsilon: 1}
	for i, lo := range c.net.Lower {
		hi := c.net.Upper[i]
		s.Centre = append(s.Centre, lo/2+hi/2)
		s.Direction = append(s.Direction, (hi-lo)/2*float64(2*c.random.IntN(2)-1))
	}
	over := c.bound("segment", s, everyMethod...)
	for _, t := range []float64{-1, 1, 0, 2*c.random.Float64() - 1} {
		p := make([]float64, len(s.Centre))
		for i, x := range s.Centre {
			p[i] = float64(float32(x + t*s.Direction[i]))
		}
		for _, run := range c.runs {
			if out, err := run.at(p); err == nil {
				c.compare(run.name, p, out[0], over)
			}
		}
	}
}

// compare holds outputs against bounds, with tolerance 0.
func (c *claims) compare(run string, p, out []float64, over met) {
	if len(c.wrong) > 4 {
		return
	}
	if len(out) != c.k {
		c.fail("%s at %v: %d outputs, the layers have %d", run, p, len(out), c.k)
		return
	}
	for _, method := range slices.Sorted(maps.Keys(over.bounds)) {
		bounds := over.bounds[method]
		if c.last != "" {
			c.probabilities(run, p, out, bounds, fmt.Sprintf("%s over the %s", method, over.name))
			continue
		}
		for i, bound := range bounds {
			row := c.rows[i*c.k : (i+1)*c.k]
			if v := dot(row, out); !(v <= bound) && !math.IsInf(bound, 1) {
				c.fail("%s at %v: %v·outputs is %v, above %v by %s over the %s", run, p, row, v, bound, method, over.name)
			}
		}
		if bound, ok := over.confidence[method]; ok {
			c.sure(run, p, out, bound, fmt.Sprintf("%s over the %s", method, over.name))
		}
	}
}

// sure holds the confidence against its bounds. It is computed here, in float64.
func (c *claims) sure(run string, p, out []float64, bound feedforward.Confidence, by string) {
	_, log := feedforward.LogConfidence(out)
	slack := 1e-12 * math.Abs(log)
	holds := log-slack <= bound.LogUpper && log+slack >= bound.LogLower
	if math.IsNaN(log) { // nothing may be claimed that does not hold of any confidence
		holds = bound.LogUpper >= 0 && bound.LogLower <= -math.Log(float64(c.k))
	}
	if !holds {
		c.fail("%s at %v: of %v the logarithm of the confidence is not in [%v, %v] by %s",
			run, p, out, bound.LogLower, bound.LogUpper, by)
	}
}

func dot(row, values []float64) (sum float64) {
	for i, v := range row {
		if v != 0 {
			sum += v * values[i]
		}
	}
	return sum
}

// probabilities holds the outputs of a last Softmax over all outputs against bounds on the differences of what enters
// it. The layers claim nothing of these outputs themselves, so that rounding has a tolerance.
func (c *claims) probabilities(run string, p, out, bounds []float64, by string) {
	difference := make([]float64, c.k*c.k)
	rest := bounds[2*c.k:]
	for i := range difference {
		if i/c.k != i%c.k {
			difference[i], rest = rest[0], rest[1:]
		}
	}
	const slack = 1e-4
	for k, v := range out {
		var above, below []float64 // f_l − f_k, at most and at least
		for l := range c.k {
			above, below = append(above, difference[l*c.k+k]), append(below, -difference[k*c.k+l])
		}
		low, high, allowed := -logSum(above), -logSum(below), slack
		if c.last == "LogSoftmax" {
			allowed = slack * (1 + math.Abs(v))
		} else {
			low, high = math.Exp(low), math.Exp(high)
		}
		if v < low-allowed || v > high+allowed {
			c.fail("%s at %v: output %d is %v, not in [%v, %v] of %s by %s", run, p, k, v, low, high, c.last, by)
		}
	}
}

// logSum is ln Σ exp(v).
func logSum(v []float64) float64 {
	most := slices.Max(v)
	if math.IsInf(most, 0) {
		return most
	}
	sum := 0.0
	for _, x := range v {
		sum += math.Exp(x - most)
	}
	return most + math.Log(sum)
}

// drawnRuntime loads ONNX Runtime.
func drawnRuntime(t testing.TB) {
	t.Helper()
	needLibrary(t)
	library, err := Library("")
	if err == nil {
		_, err = loadLibrary(library)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// examiner examines networks in another process: once in some ten thousands, the optimiser of ONNX Runtime 1.31 takes
// the process with it.
type examiner struct {
	to      io.WriteCloser
	answers *json.Decoder
	process *exec.Cmd
}

const examinerVariable = "CERTSPEC_DRAWN"

// ask examines the network of some choices; crashed says that the process ended.
func (e *examiner) ask(choices []byte) (v verdict, crashed bool, err error) {
	if e.process == nil {
		e.process = exec.Command(os.Args[0], "-test.run", "^TestExaminer$")
		e.process.Env = append(os.Environ(), examinerVariable+"=1")
		from, err := e.process.StdoutPipe()
		if err != nil {
			return v, false, err
		}
		if e.to, err = e.process.StdinPipe(); err != nil {
			return v, false, err
		}
		if err := e.process.Start(); err != nil {
			return v, false, err
		}
		e.answers = json.NewDecoder(from)
	}
	err = json.NewEncoder(e.to).Encode(choices)
	if err == nil {
		err = e.answers.Decode(&v)
	}
	if err != nil {
		e.close()
	}
	return v, err != nil, nil
}

func (e *examiner) close() {
	if e.process != nil {
		e.to.Close()
		e.process.Wait()
		e.process = nil
	}
}

// TestExaminer is that other process.
func TestExaminer(t *testing.T) {
	if os.Getenv(examinerVariable) == "" {
		t.Skip("a part of TestDrawnNetworks")
	}
	drawnRuntime(t)
	questions, answers := json.NewDecoder(os.Stdin), json.NewEncoder(os.Stdout)
	var choices []byte
	for questions.Decode(&choices) == nil {
		if err := answers.Encode(examine(drawnet.Draw(drawnet.FromBytes(choices)), nil, drawnPoints)); err != nil {
			t.Fatal(err)
		}
	}
}

// tally counts what became of drawn networks.
type tally struct {
	sync.Mutex
	networks, invalid, accepted, wrong int
	refused                            map[string]int
	crashed                            []uint64
}

// draw examines the networks of seeds, from one on, as long as there are more, and reports what is wrong: shrunk, in a
// file, and with the command that draws it again.
func (n *tally) draw(t *testing.T, from uint64, more func(drawn uint64) bool) {
	var drawn atomic.Uint64
	var workers sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		workers.Go(func() {
			var e examiner
			defer e.close()
			for at := drawn.Add(1) - 1; more(at) && t.Context().Err() == nil; at = drawn.Add(1) - 1 {
				choices := drawnet.FromSeed(from + at)
				drawnet.Draw(choices)
				v, crashed, err := e.ask(choices.Made())
				if err != nil {
					t.Error(err)
					return
				}
				if n.add(from+at, v, crashed) {
					report(t, &e, from+at, choices.Made())
				}
			}
		})
	}
	workers.Wait()
}

// add counts a network, and says whether it is one of the first that are wrong.
func (n *tally) add(seed uint64, v verdict, crashed bool) bool {
	n.Lock()
	defer n.Unlock()
	n.networks++
	switch {
	case crashed:
		n.crashed = append(n.crashed, seed)
		n.invalid++
	case v.Invalid != "":
		n.invalid++
	case v.Refused != "":
		if n.refused == nil {
			n.refused = map[string]int{}
		}
		n.refused[withoutNumbers(v.Refused)]++
	default:
		n.accepted++
	}
	if v.Wrong != nil {
		n.wrong++
	}
	return v.Wrong != nil && n.wrong <= 20
}

// report shrinks a network, keeps it in a file, and says what is wrong with it.
func report(t *testing.T, e *examiner, seed uint64, choices []byte) {
	t.Helper()
	var wrong []string
	small := drawnet.Draw(drawnet.FromBytes(drawnet.Shrink(choices, 400, func(choices []byte) bool {
		v, _, err := e.ask(choices)
		if err == nil && v.Wrong != nil {
			wrong = v.Wrong
		}
		return err == nil && v.Wrong != nil
	})))
	data, err := small.Encode()
	file := filepath.Join("out", "drawn", fmt.Sprintf("%d.onnx", seed))
	if err == nil {
		err = os.MkdirAll(filepath.Join("..", "..", filepath.Dir(file)), 0o777)
	}
	if err == nil {
		err = os.WriteFile(filepath.Join("..", "..", file), data, 0o666)
	}
	if err != nil {
		t.Error(err)
	}
	t.Errorf("%s\n%s\nagain: go test ./engine/onnx -run TestDrawnNetworks -drawn %d\n"+
		"the network, shrunk: %s; in engine/onnx/testdata/drawn it stays in the tests",
		strings.Join(wrong[:min(2, len(wrong))], "\n"), small, seed, file)
}

// withoutNumbers is a refusal without what differs from file to file.
func withoutNumbers(reason string) string {
	_, text, found := strings.Cut(reason, " (")
	if !found {
		text = reason
	}
	text = strings.Map(func(r rune) rune {
		if strings.ContainsRune("0123456789-.[]\"", r) {
			return -1
		}
		return r
	}, text)
	words := strings.Fields(text)
	return strings.Join(words[:min(12, len(words))], " ")
}

// log prints the counts and the commonest refusals, and asks that most networks are accepted.
func (n *tally) log(t *testing.T) {
	valid := n.networks - n.invalid
	t.Logf("%d networks: ONNX Runtime refuses %d; the reader takes %d of the others (%.0f %%), refuses %d; %d are wrong",
		n.networks, n.invalid, n.accepted, 100*float64(n.accepted)/float64(max(valid, 1)), valid-n.accepted, n.wrong)
	if n.crashed != nil {
		t.Logf("ONNX Runtime takes its process with it at seeds %v", n.crashed)
	}
	reasons := slices.SortedFunc(maps.Keys(n.refused), func(a, b string) int { return n.refused[b] - n.refused[a] })
	for _, r := range reasons[:min(40, len(reasons))] {
		t.Logf("%6d × %s", n.refused[r], r)
	}
	if 10*n.accepted < 6*valid {
		t.Errorf("the reader takes %d of %d networks; expected 60 %%", n.accepted, valid)
	}
}

// Networks drawn at random: what ONNX Runtime makes of those that are read, optimised and as written, lies in
// all bounds.
func TestDrawnNetworks(t *testing.T) {
	drawnRuntime(t)
	var n tally
	if *drawnSeed >= 0 {
		n.draw(t, uint64(*drawnSeed), func(drawn uint64) bool { return drawn == 0 })
		return
	}
	networks := *drawnCount
	if testing.Short() {
		networks = min(networks, 60)
	}
	n.draw(t, *drawnFrom, func(drawn uint64) bool {
		if drawn > 0 && drawn%10_000 == 0 {
			t.Logf("%d of %d networks", drawn, networks)
		}
		return drawn < networks
	})
	n.log(t)
}

// Networks whose bounds did not hold once.
func TestDrawnBefore(t *testing.T) {
	drawnRuntime(t)
	files, err := filepath.Glob(filepath.Join("testdata", "drawn", "*.onnx"))
	if err != nil || len(files) == 0 {
		t.Fatal("no networks", err)
	}
	for _, file := range files {
		data := testkit.Read(t, file)
		net, err := drawnet.Decode(data)
		if err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		v := examine(net, nil, drawnPoints)
		if v.Invalid != "" {
			t.Errorf("%s: %v", file, v.Invalid)
		}
		if v.Wrong != nil {
			t.Errorf("%s: %s\n%s", file, strings.Join(v.Wrong, "\n"), net)
		}
	}
}

// FuzzDrawnNetworks looks for choices that draw a network whose bounds do not hold.
func FuzzDrawnNetworks(f *testing.F) {
	drawnRuntime(f)
	for seed := range uint64(20) {
		c := drawnet.FromSeed(seed)
		drawnet.Draw(c)
		f.Add(c.Made())
	}
	f.Fuzz(func(t *testing.T, choices []byte) {
		net := drawnet.Draw(drawnet.FromBytes(choices))
		if v := examine(net, nil, 12); v.Wrong != nil {
			t.Errorf("%s\n%s", strings.Join(v.Wrong, "\n"), net)
		}
	})
}
