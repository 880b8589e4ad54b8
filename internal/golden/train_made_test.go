package golden

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/certspec/certspec/dataset"
	"github.com/certspec/certspec/gomlxmodels/modelfile"
	"github.com/certspec/certspec/gomlxmodels/train"
	"github.com/certspec/certspec/internal/npy"
)

// golden gathers digests.
type golden struct {
	t     *testing.T
	dir   string
	found map[string]string
}

func (g *golden) bytes(name string, data []byte) {
	if _, twice := g.found[name]; twice {
		g.t.Fatalf("%s twice", name)
	}
	g.found[name] = fmt.Sprintf("%x", sha256.Sum256(data))
}

func (g *golden) json(name string, v any) {
	text, err := json.Marshal(v)
	g.must(err)
	g.bytes(name, text)
}

func (g *golden) must(err error) {
	if err != nil {
		g.t.Helper()
		g.t.Fatal(err)
	}
}

// images are drawn at random: so many of a side, with labels of three classes that show in their brightness.
func (g *golden) images(name string, n, side int, seed uint64) *dataset.Dataset {
	const classes = 3
	path := filepath.Join(g.dir, name)
	random := rand.New(rand.NewPCG(seed, 5))
	var images, labels bytes.Buffer
	g.must(npy.WriteHeader(&images, "|u1", n, side, side, 3))
	g.must(npy.WriteHeader(&labels, "<i8", n))
	for i := range n {
		g.must(binary.Write(&labels, binary.LittleEndian, int64(i%classes)))
		for range side * side * 3 {
			images.WriteByte(byte(random.IntN(150) + 50*(i%classes)))
		}
	}
	g.must(os.WriteFile(path+".npy", images.Bytes(), 0o666))
	g.must(os.WriteFile(path+"-labels.npy", labels.Bytes(), 0o666))
	d, err := dataset.Open("npy:" + path + ".npy," + path + "-labels.npy")
	g.must(err)
	return d
}

// options train the small network on 24 images of 8×8 pixels.
func (g *golden) options(out string) train.Options {
	return train.Options{
		Train: g.images("train", 24, 8, 1), Test: g.images("test", 9, 8, 2), Out: filepath.Join(g.dir, strings.NewReplacer("/", "-", " ", "-").Replace(out)),
		Sigma: new(0.25), Epochs: 2, BatchSize: 8, LearningRate: 0.05, Seed: 3, Backend: engine,
	}
}

// train trains and keeps the digests of weights, card and log.
func (g *golden) train(name string, o train.Options) *modelfile.Model {
	g.t.Helper()
	_, err := train.Run(context.Background(), o)
	g.must(err)
	return g.model(name, o.Out)
}

func (g *golden) model(name, path string) *modelfile.Model {
	m, err := modelfile.Read(path)
	g.must(err)
	g.bytes(name+" weights", g.read(modelfile.WeightsPath(path)))
	m.Card = still(m.Card)
	text, err := json.MarshalIndent(m.Card, "", "  ")
	g.must(err)
	g.bytes(name+" card", text)
	if log, err := os.ReadFile(path + ".csv"); err == nil {
		g.bytes(name+" log", withoutTimes(log))
	}
	return m
}

func (g *golden) read(path string) []byte {
	data, err := os.ReadFile(path)
	g.must(err)
	return data
}

// still is a card without what differs from run to run and from place to place.
func still(c modelfile.Card) modelfile.Card {
	c.Train.Name, c.Test.Name = "train", "test"
	c.Backend, c.Seconds, c.Waiting, c.Program, c.Command = "", 0, 0, "", ""
	return c
}

// withoutTimes leaves out the last column.
func withoutTimes(csv []byte) []byte {
	var kept []string
	for line := range strings.Lines(string(csv)) {
		kept = append(kept, line[:strings.LastIndex(line, ",")])
	}
	return []byte(strings.Join(kept, "\n"))
}
