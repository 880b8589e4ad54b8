// Certcheck checks certificates of certspec. It reads a ledger, the record of a certification by randomized smoothing, and
// proves from the counts in it, by exact rules and big numbers, what the ledger claims. It knows the format of the file (package
// rs/ledger documents it), and imports nothing but Go's standard library: read it in an evening, and trust nobody.
//
//	certcheck [-q] LEDGER...     exit code 0: all holds; 1: something does not, or nothing is claimed; 2: wrong use
//
// Proven: The header announced all looks, and they spend α in all, or under the rule "betting" share it. Every
// image was looked at as announced, its counts sum to its copies, and its class is the one with the most votes of the selection, whose
// copies enter no bound. The hits of that class prove the lower bound claimed and no larger one, at the best look. The
// radius follows from the bound, Φ(radius/σ) ≤ bound, and is no smaller. So, if the counts are what the model said to independent
// noisy copies, each claim is false with probability at most α. The averages follow from claims and labels.
//
// Not proven: that model, data, noise and counts are what the header names. To replay blocks with the model shows that.
// Who alters a ledger and puts its digest right is found out, except where the same claims follow:
//   - texts and numbers of the header that enter no claim: names, digests of model and data, seed, tolerance, budget, sizes not used;
//   - a look that the class does not depend on: counts of the selection with the same winner (and, under iss, the same size),
//     of other classes and misses behind it, or of the class behind the look of the claim, where that remains the best;
//   - a label that stays wrong, or that of an abstention, in all lines of its image;
//   - the last digits of a lower bound, as far as it still proves its radius, and k of n prove it at between α(1−2·10⁻⁹) and α(1−10⁻⁹);
//   - counts or labels together with all that follows from them.
package main

import (
	"fmt"
	"io"
	"os"
)

func main() { os.Exit(run(os.Args[1:], os.Stdout, os.Stderr)) }

func run(files []string, out, errs io.Writer) (code int) {
	quiet := len(files) > 0 && files[0] == "-q"
	if quiet {
		files = files[1:]
	}
	if len(files) == 0 || files[0] == "" || files[0][0] == '-' {
		fmt.Fprintln(errs, "usage: certcheck [-q] LEDGER...")
		return 2
	}
	for _, file := range files {
		data, err := os.ReadFile(file)
		c, reason := check(data, &memory{map[string]bool{}, map[string][2]int{}, 1e9})
		if err != nil {
			c.at, reason = 0, err.Error()
		}
		if reason != "" {
			fmt.Fprintf(errs, "%s:%d: %s\n", file, c.at+1, reason)
			code = 1
		} else if !quiet {
			fmt.Fprintf(out, "%s: all holds: %d images, %d abstentions, %s, σ = %s, α = %s, %s\n", file, c.images, c.abstained, c.Rule.Name, c.Sigma, c.Alpha, c.digest)
		}
	}
	if !quiet && code == 0 {
		fmt.Fprint(out, statement)
	}
	return code
}

const statement = `Proven: if the counts are what the model said to independent noisy copies, each claim is false with probability at most α.
Not proven without the model: that the counts, the labels and the data are what the header says. Who puts the digest right
can alter, unseen, what no claim follows from: names in the header, labels that stay wrong, counts that decide nothing, the last
digits of a lower bound; or counts and labels together with all that follows from them. certspec ledger replay tells more.
`
