package nearest

import "testing"

func TestOf(t *testing.T) {
	known := []string{"fog", "frost", "snow", "elastic_transform"}
	for name, want := range map[string]string{"fogg": "fog", "forst": "frost", "now": "snow", "": "fog", "frost": "frost", "elastic": "elastic_transform"} {
		if got := Of(name, known); got != want {
			t.Errorf("%q is nearest to %q; expected %q", name, got, want)
		}
	}
	if got := edits("kitten", "sitting"); got != 3 { // the textbook's example
		t.Errorf("kitten to sitting takes %d edits; expected 3", got)
	}
}

func TestDidYouMean(t *testing.T) {
	known := []string{"certify", "calib", "hcr", "none", "shortest"}
	for typed, want := range map[string]string{
		"certfy": "certify", "certifiy": "certify", "Calib": "calib", "hrc": "hcr", "short": "shortest", "": "", "attack": "", "vgg": "", "loop": "",
	} {
		got := DidYouMean(typed, known)
		if want != "" {
			want = "; did you mean " + want + "?"
		}
		if got != want {
			t.Errorf("%q: %q, want %q", typed, got, want)
		}
	}
	if got := DidYouMean("a", nil); got != "" {
		t.Errorf("nothing known: %q", got)
	}
}
