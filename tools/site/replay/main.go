//go:build js && wasm

// Replay is the program of a page that replays a ledger of an integer network.
//
//	replay LEDGER NETWORK IMAGES    exit code 0: all blocks are equal; 1: some differ; 2: nothing was found out
package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"syscall/js"
	"time"

	"github.com/certspec/certspec/dataset"
	"github.com/certspec/certspec/internal/classifier/integers"
	"github.com/certspec/certspec/internal/intnet"
	"github.com/certspec/certspec/internal/rs/ledger/ledgerio"
	"github.com/certspec/certspec/progress"
	"github.com/certspec/certspec/rs"
)

func main() {
	r, err := replay(os.Args[1], os.Args[2], os.Args[3])
	switch {
	case err != nil:
		fmt.Fprintln(os.Stderr, err)
		os.Exit(2)
	case len(r.Flips) > 0:
		for _, flip := range r.Flips {
			fmt.Fprintln(os.Stderr, flip)
		}
		os.Exit(1)
	}
}

// replay compares some images, chosen at random, and says what was seen.
func replay(path, network, count string) (*rs.Replayed, error) {
	images, err := strconv.Atoi(count)
	if err != nil || images < 1 {
		return nil, fmt.Errorf("%q images; expected at least 1", count)
	}
	l, err := ledgerio.Read(path)
	if err != nil {
		return nil, err
	}
	n, _, err := intnet.Read(network)
	if err != nil {
		return nil, err
	}
	program, err := n.Program("")
	if err != nil {
		return nil, err
	}
	data, err := dataset.OpenLike(l.Header.Data.Name, l.Header.Data.Name)
	if err != nil {
		return nil, err
	}
	ids := make([]int, 0, len(l.Looks))
	for _, look := range l.Looks {
		ids = append(ids, look.Image)
	}
	ids = slices.Compact(ids)
	rand.Shuffle(len(ids), func(i, j int) { ids[i], ids[j] = ids[j], ids[i] })
	ids = ids[:min(images, len(ids))]
	var begun time.Time // of the blocks; before, images are read
	done := 0.0
	show := func(s progress.State) {
		if begun.IsZero() && s.Unit == "blocks" {
			begun, done = time.Now(), s.Done
		}
		js.Global().Call("postMessage", map[string]any{"doing": s.String()})
	}
	r, err := rs.Replay(context.Background(), path, integers.Of(program, network), data, rs.ReplayOptions{Images: ids,
		Workers: 1, Progress: show})
	if err != nil {
		return nil, err
	}
	rate := (float64(r.Blocks) - done) * float64(l.Header.Block) / time.Since(begun).Seconds()
	fmt.Printf("%d images chosen at random (%v), %d looks: %d of %d blocks of %d noise samples are equal; %.0f a "+
		"second by kernel %s\n", r.Images, ids, r.Looks, r.EqualBlocks, r.Blocks, l.Header.Block, rate, program.Kernel())
	return r, nil
}
