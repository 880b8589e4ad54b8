//go:build js && wasm

// Lesson lets a page compute with rs/bound: it sets the function certspecRadius(k, n, alpha, sigma), which answers with
// {lower, radius}, or {error}, and certspecLimit(p, sigma), the radius that no number of noise samples exceeds.
package main

import (
	"syscall/js"

	"github.com/certspec/certspec/rs/bound"
)

func main() {
	export("certspecRadius", func(args []js.Value) (map[string]any, error) {
		p, err := bound.Lower(args[0].Int(), args[1].Int(), args[2].Float())
		if err != nil {
			return nil, err
		}
		lower, radius, err := bound.Certificate(args[3].Float(), p)
		return map[string]any{"lower": lower, "radius": radius}, err
	})
	export("certspecLimit", func(args []js.Value) (map[string]any, error) {
		p := args[0].Float()
		radius, err := bound.Radius(args[1].Float(), bound.Probability{P: p, Q: 1 - p})
		return map[string]any{"radius": radius}, err
	})
	select {} // the page calls the functions as long as it is open
}

func export(name string, f func([]js.Value) (map[string]any, error)) {
	js.Global().Set(name, js.FuncOf(func(_ js.Value, args []js.Value) any {
		answer, err := f(args)
		if err != nil {
			return map[string]any{"error": err.Error()}
		}
		return answer
	}))
}
