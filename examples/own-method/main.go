//go:build ignore

// A training method of one's own, in a module of one's own: label smoothing under two noises. Certspec trains with it, keeps and
// resumes checkpoints, and writes its name and options on the card of the model, as it does for its own methods.
//
//	mkdir own && cd own && go mod init example.org/own
//	cp …/examples/own-method/main.go . && go get github.com/certspec/certspec@latest
//	go run main.go smoothed
package main

import (
	"context"
	"fmt"
	"log"
	"os"

	. "github.com/gomlx/gomlx/core/graph"

	"github.com/certspec/certspec/dataset"
	"github.com/certspec/certspec/gomlxmodels/loss"
	"github.com/certspec/certspec/gomlxmodels/method"
	"github.com/certspec/certspec/gomlxmodels/train"
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
	images, err := dataset.Open("synthetic/train[count=64]")
	if err != nil {
		log.Fatal(err)
	}
	test, err := dataset.Open("synthetic/test[count=16]")
	if err != nil {
		log.Fatal(err)
	}
	card, err := train.Run(context.Background(), train.Options{
		Train: images, Test: test, Out: os.Args[1], Sigma: 0.25, Epochs: 1, BatchSize: 16,
		Method: Smoothing{Amount: 0.1, Noises: 2}, Backend: os.Getenv("OWN_METHOD_BACKEND"),
	})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(card.Recipe.Method, card.Recipe.Options["amount"], card.Recipe.Options["noises"])
}
