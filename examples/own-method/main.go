//go:build ignore

// A training method of one's own, in a module of one's own: label smoothing under two noises. Certspec trains with it, keeps and
// resumes checkpoints, writes its name and options on the card of the model, and sets it beside its own methods in a table.
//
//	mkdir own && cd own && go mod init example.org/own
//	cp …/examples/own-method/* . && go get github.com/certspec/certspec@latest
//	go run main.go out
package main

import (
	"context"
	"fmt"
	"log"
	"os"

	. "github.com/gomlx/gomlx/core/graph"

	"github.com/certspec/certspec/experiment"
	"github.com/certspec/certspec/gomlxmodels/loss"
	"github.com/certspec/certspec/gomlxmodels/method"
	"github.com/certspec/certspec/study"
)

// Smoothing minimises the cross-entropy with labels of which a part is spread over all classes.
type Smoothing struct {
	Amount float64 `json:"amount"`
	Noises int     `json:"noises"`
}

func (Smoothing) Name() string { return "label-smoothing" }

// Needs asks for one view of an image under several noises.
func (m Smoothing) Needs() method.Needs { return method.Needs{Views: 1, Noises: m.Noises} }

func (m Smoothing) Loss(b *method.Batch) []loss.Term {
	spread := Neg(ReduceAllMean(LogSoftmax(b.Logits)))
	return []loss.Term{
		{Name: "cross-entropy", Value: MulScalar(loss.CrossEntropy(b.ByCopy(), b.Labels), 1-m.Amount)},
		{Name: "spread", Value: MulScalar(spread, m.Amount)},
	}
}

func main() {
	engine := os.Getenv("OWN_METHOD_BACKEND")
	own := Smoothing{Amount: 0.1, Noises: 2}
	o := experiment.Options{
		Folder: os.Args[1], Table: "own", Tier: "T0", Add: []string{"own.yaml"}, // recipes and a table
		Methods: map[string]method.Method{own.Name(): own},
		Engine:  engine, Training: engine,
	}
	if err := experiment.Run(context.Background(), o); err != nil {
		log.Fatal(err)
	}
	folder, err := study.Open(o.Folder, "own")
	if err != nil {
		log.Fatal(err)
	}
	for _, row := range folder.Rows {
		radii, err := folder.SampleOn(row, "acr", "clean")
		if err != nil {
			log.Fatal(err)
		}
		fmt.Printf("%s: average certified radius over %d images in 0 to 1: %v\n", row.Title, len(radii.Images), radii.Value() >= 0 && radii.Value() < 1)
	}
}
