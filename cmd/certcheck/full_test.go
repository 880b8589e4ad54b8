package main

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"testing"
)

type full struct{}

func (full) Write([]byte) (int, error) { return 0, errors.New("no space left") }

// A verdict that could not be written is no success.
func TestFullOutput(t *testing.T) {
	looks := toys[0].draw(rand.New(rand.NewPCG(1, 1)))
	file := write(t, sealed([]string{toys[0].header()}, looks, toys[0].close(looks)))
	var errs bytes.Buffer
	if code := run([]string{file}, full{}, &errs); code != 1 || errs.Len() == 0 {
		t.Errorf("code %d, %q", code, &errs)
	}
}
