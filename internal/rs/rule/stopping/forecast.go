package stopping

import "github.com/certspec/certspec/rs/ledger"

// Forecast returns the noise samples that an image takes, those of the selection included, and the radius it gets. The
// selection and each look see the expected share p of hits, rounded down. A p outside [0, 1] counts as the nearer end.
// A single image may do better or worse; a plan of time needs the mean over many.
func (p *Plan) Forecast(probability float64) (samples int, radius float64) {
	if !(probability >= 0) {
		probability = 0
	}
	probability = min(1, probability)
	t := p.Trial(0, 0)
	for hits, seen := 0, 0; !t.Done(); {
		from, to := t.Blocks()
		n := (to - from) * p.block
		look := ledger.Look{From: from, To: to}
		if from == 0 { // the selection finds the class, by one vote at least
			look.Counts = []ledger.Count{{Class: 0, N: max(1, int(probability*float64(n)))}}
		} else {
			seen += n
			sum := int(probability * float64(seen))
			look.Counts = []ledger.Count{{Class: 0, N: sum - hits}}
			hits = sum
		}
		if err := t.Add(look); err != nil {
			panic("rule: " + err.Error())
		}
	}
	return t.Passes, t.Radius
}
