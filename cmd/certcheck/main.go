// Certcheck checks certificates of certspec. From a ledger, the record of a certification by randomized smoothing, it proves what the
// ledger claims, by exact rules and big numbers. It knows the format (see package rs/ledger) and imports nothing but Go's standard
// library: read it in an evening, and trust nobody.
//
//	certcheck [-q] LEDGER...     exit code 0: all holds; 1: something does not, or nothing is claimed; 2: wrong use
//
// Proven: The looks that the header announces spend α, and every image was looked at as announced. Its counts sum to its copies, and
// its class has the most votes of the selection, whose copies enter no bound. The hits of that class prove the lower bound and no
// larger one, at the best look; the radius follows from the bound, Φ(radius/σ) ≤ bound; the averages follow from claims and labels. So
// each claim is false with probability at most α, if the counts are what the model said to independent noisy copies.
//
// Not proven: that model, data, noise and counts are those that the header names. To replay blocks with the model shows it.
// Who alters a ledger and puts its digest right is found out, except where the same claims and averages follow:
//   - what enters no claim: names, digests of model and data, seed, tolerance, futility, words, announced sizes that no image meets;
//   - counts of the selection with the same winner (and, under iss, the same size); behind it, counts of other classes and misses,
//     or those of the class behind the look of the claim, where that look remains the best;
//   - a label that stays wrong, or that of an abstention, in all lines of its image;
//   - the last digits of a lower bound while k of n prove it at a level from α(1−2·10⁻⁹) to α(1−10⁻⁹), and the radius follows from it;
//   - anything, together with all that follows from it.
package main

import (
	"fmt"
	"io"
	"os"
)

const statement = `Proven: if the counts are what the model said to independent noisy copies, each claim is false with probability at most α.
Not proven without the model: that counts, labels and data are what the header says. Who puts the digest right can alter unseen what
no claim follows from (names in the header, labels that stay wrong, counts that decide nothing, last digits of a lower bound), or
anything together with all that follows from it. "certspec ledger replay" asks the model.
`

func main() { os.Exit(run(os.Args[1:], os.Stdout, os.Stderr)) }

func run(args []string, out, errs io.Writer) (code int) {
	files := args
	if len(args) > 0 && args[0] == "-q" {
		files, out = args[1:], io.Discard
	}
	if len(files) == 0 || files[0] == "" || files[0][0] == '-' {
		fmt.Fprintln(errs, "usage: certcheck [-q] LEDGER...")
		return 2
	}
	for _, file := range files {
		data, err := os.ReadFile(file)
		c, reason := check(data, memory{})
		if err != nil {
			reason = err.Error()
		}
		if reason != "" {
			fmt.Fprintf(errs, "%s:%d: %s\n", file, c.at+1, reason)
			code = 1
			continue
		}
		fmt.Fprintf(out, "%s: all holds: %d images, %d abstentions, %s, σ = %s, α = %s, %s\n%s",
			file, c.images, c.abstained, c.Rule.Name, c.Sigma, c.Alpha, c.lines[c.at], statement)
	}
	return code
}
