//go:build ignore

// A network of one's own, in a module of one's own: described once, it is trained, certified, and exported.
//
//	mkdir own && cd own && go mod init example.org/own
//	cp …/examples/own-network/main.go . && go get github.com/certspec/certspec@latest
//	go run main.go out
package main

import (
	"context"
	"fmt"
	"log"
	"os"

	"github.com/certspec/certspec/dataset"
	"github.com/certspec/certspec/engine"
	"github.com/certspec/certspec/gomlxmodels/modelfile"
	"github.com/certspec/certspec/gomlxmodels/nets"
	"github.com/certspec/certspec/gomlxmodels/train"
	"github.com/certspec/certspec/rs"
)

// Twin looks at an image with small and with large kernels, and adds up what both see.
type Twin struct{}

func (Twin) Name() string { return "twin" }

// Layers takes its numbers of channels from b.Width, so that --width and Recipe.Width hold for it, too.
func (Twin) Layers(b *nets.Builder, x nets.Value, classes int) nets.Value {
	small := b.Norm("small/bn", b.Conv("small", x, nets.ConvOptions{Size: 3, Channels: b.Width(16), Stride: 2}))
	large := b.Norm("large/bn", b.Conv("large", x, nets.ConvOptions{Size: 7, Channels: b.Width(16), Stride: 2}))
	x = b.MaxPool("pool", b.ReLU(b.Add("both", small, large)))
	hidden := b.ReLU(b.Dense("hidden", x, b.Width(64)))
	return b.Dense("head", hidden, classes)
}

func main() {
	nets.Register(Twin{})
	ctx, path, backend := context.Background(), os.Args[1]+"/twin", os.Getenv("OWN_NETWORK_BACKEND")
	images, err := dataset.Open("synthetic/train[count=200]")
	check(err)
	test, err := dataset.Open("synthetic/test[count=20]")
	check(err)

	card, err := train.Run(ctx, train.Options{Network: "twin", Width: 0.5, Sigma: new(0.25), Epochs: 2, BatchSize: 20, LearningRate: 0.002, Optimizer: "adam", Schedule: "triangular",
		Train: images, Test: test, Out: path, Backend: backend})
	check(err)
	fmt.Printf("%s, width %g: %d parameters, by %s\n", card.Architecture.Name, card.Architecture.Width, card.Parameters, card.Recipe.Optimizer)

	model, err := engine.Open(path, engine.Backend(backend))
	check(err)
	defer model.Close()
	run, err := rs.Certify(ctx, model, test, rs.Options{Sigma: 0.25, MaxSamples: 200, Selection: 100, Ledger: os.Args[1] + "/twin.ledger"})
	check(err)
	fmt.Printf("certified %d images; average certified radius in 0 to 1: %v\n", len(run.Rows), run.Rows.ACR().Value >= 0 && run.Rows.ACR().Value < 1)

	trained, err := modelfile.Read(path)
	check(err)
	check(engine.Export(trained, os.Args[1]+"/twin.onnx"))
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}
