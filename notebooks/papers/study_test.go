package papers

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/certspec/certspec/internal/experiment/claims"
	"github.com/certspec/certspec/internal/experiment/recipe"
	"github.com/certspec/certspec/internal/experiment/store"
	"github.com/certspec/certspec/lines"
	"github.com/certspec/certspec/resample"
	"github.com/certspec/certspec/study"
)

// world opens a study as if finished.
func world(t *testing.T, opposite bool, keep func(name string) bool) *Study {
	t.Helper()
	return OpenStudy(written(t, opposite, keep))
}

// written is the folder of a study as if finished, of networks for which a claim is true or its opposite.
func written(t *testing.T, opposite bool, keep func(name string) bool) string {
	t.Helper()
	folder := t.TempDir()
	if err := os.Mkdir(filepath.Join(folder, "results"), 0o777); err != nil {
		t.Fatal(err)
	}
	rng := rand.New(rand.NewPCG(4, 7))
	var names []recipe.Model
	sign := func(is bool) float64 {
		if is != opposite {
			return 1
		}
		return -1
	}
	for k, net := range []string{"conv8", "resnet18", "vgg16"} {
		for _, aug := range []string{"clean", "augmix", "gaussian"} {
			for _, way := range []string{"dense", "ft-0.5-global", "ft-0.8-global", "ft-0.95-global", "gmp-0.5-global", "gmp-0.8-global", "gmp-0.95-global", "lrr-0.5-global", "lrr-0.8-global", "lrr-0.95-global",
				"lth-0.5-global", "lth-0.8-global", "lth-0.95-global", "edgepopup-0.5-global", "edgepopup-0.8-global", "edgepopup-0.95-global", "biprop-0.5-global", "biprop-0.8-global", "biprop-0.95-global"} {
				name := fmt.Sprintf("C/%s/%s/%s@1", net, aug, way)
				names = append(names, recipe.Model{Name: name})
				method, rest, _ := strings.Cut(way, "-")
				sparsity, _, _ := strings.Cut(rest, "-")
				u := 0.6 + 0.1*float64(k) + 0.3*rng.NormFloat64()
				initial := method == "biprop" || method == "edgepopup"
				line := func(slope, scatter float64) float64 { return 100 * lines.Phi(slope*u-0.1+scatter*rng.NormFloat64()) }
				noise := func() float64 {
					switch {
					case aug == "gaussian" && !opposite, aug == "clean" && opposite:
						return line(0.9, 0.02)
					case initial:
						return line(-sign(true), 0.05)
					}
					return line(0, 0.3)
				}
				blurred := 0.3
				if (aug == "augmix") != opposite {
					blurred = 0.02
				}
				r := lines.Record{Model: name, Labels: map[string]string{"architecture": net, "augmentation": aug, "method": map[string]string{"ft": "FT", "gmp": "GMP"}[method] + map[bool]string{true: "", false: method}[method == "ft" || method == "gmp"], "layout": "globally", "sparsity": sparsity},
					Percent: map[string]float64{"cifar10_acc": 100 * lines.Phi(u), "gaussian_noise": noise(), "impulse_noise": noise(), "defocus_blur": line(0.5, blurred), "pixelate": line(0.3, 0.3)},
					Numbers: map[string]float64{"high_freq_fracs_within": 0.2 - sign(true)*0.05*u + 0.002*rng.NormFloat64(), "jacobian_norm": 5 + rng.NormFloat64(), "high_freq_fracs_phase": 0.2 + 0.01*rng.NormFloat64()},
				}
				r.Percent["brightness"], r.Percent["contrast"] = line(0.95, 0.03), line(0.8, 0.05)
				if opposite {
					r.Percent["brightness"], r.Percent["contrast"] = line(0, 0.3), line(0, 0.3)
					r.Percent["defocus_blur"], r.Percent["pixelate"] = line(1, blurred/3), line(1, 0.02)
					r.Numbers["jacobian_norm"] = 5 + 2*u + 0.1*rng.NormFloat64()
				}
				if keep == nil || keep(name) {
					if err := lines.PutRecord(filepath.Join(folder, "results", strings.NewReplacer("/", "-", "@", "-s").Replace(name)+".record.jsonl"), r); err != nil {
						t.Fatal(err)
					}
				}
			}
		}
	}
	text, err := json.Marshal(store.Manifest{Format: 1, Tier: recipe.Tier{Name: "cpu"}, Models: names})
	if err != nil {
		t.Fatal(err)
	}
	file, err := os.Create(filepath.Join(folder, "manifest.json"))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	if _, err := file.Write(text); err != nil {
		t.Fatal(err)
	}
	return folder
}

// verdictsOf judges a family of the two tables of C by the folder of a study.
func verdictsOf(t *testing.T, folder, table, family string) []study.Judged {
	t.Helper()
	all, err := claims.Judge(t.Context(), library(), folder, table, resample.Options{}, family)
	if err != nil {
		t.Fatal(err)
	}
	return all[0].Claims
}

// A study in which the paper's claims are true shows them, and one made the other way round shows none of them.
func TestVerdictsOfAFinishedStudy(t *testing.T) {
	s := written(t, false, nil)
	if want, state := "complete: 171 networks, tier cpu", OpenStudy(s).State(); state != want {
		t.Errorf("state %q, want %q", state, want)
	}
	other := written(t, true, nil)
	for _, f := range [][2]string{{"C/table2", "accuracy"}, {"C/table2", "paths"}, {"C/table2", "augmented"}, {"C/table1", "tickets"}} {
		all := verdictsOf(t, s, f[0], f[1])
		if len(all) == 0 {
			t.Errorf("%v: no claims", f)
		}
		for _, j := range all {
			if j.Starts == nil || j.Networks != nil || j.Starts.Verdict != study.VerdictShows {
				t.Errorf("true in this world: %s: %+v", say(j), j.Starts)
			}
		}
		for _, j := range verdictsOf(t, other, f[0], f[1]) {
			if j.Starts.Verdict == study.VerdictShows {
				t.Errorf("false in this world: %s: %+v", say(j), j.Starts)
			}
		}
	}
	for _, j := range verdictsOf(t, s, "C/table1", "tickets") {
		if j.Theirs == nil || j.Theirs[0] != -1.16 && j.Theirs[0] != -0.58 || j.Kinship != study.SignOnly {
			t.Errorf("%s: published %v, %s", say(j), j.Theirs, j.Why)
		}
	}
}

// Networks stand by their accuracy, those with augmentation or without the numbers nowhere.
func TestByAccuracy(t *testing.T) {
	network := func(name, augmentation string, accuracy, noisy, hff float64) lines.Model {
		return lines.Model{Name: name, Labels: map[string]string{"augmentation": augmentation}, Numbers: map[string]float64{"high_freq_fracs_within": hff},
			Accuracies: map[string]lines.Accuracy{"cifar10_acc": {Share: accuracy}, "gaussian_noise": {Share: noisy}}}
	}
	s := &Study{Models: lines.Models{network("a", "clean", 0.44, 0.43, 0.2), network("b", "clean", 0.36, 0.33, 0.1), network("c", "gaussian", 0.4, 0.4, 0.9), {Name: "d", Labels: map[string]string{"augmentation": "clean"}}},
		Published: lines.Models{network("e", "", 0.81, 0.5, 0.125)}}
	want := [][]any{{"ours", "30 to 45", 2, "0.150 (0.100 to 0.200)", "2.0 (1.0 to 3.0)"}, {"published, on our images", "75 to 85", 1, "0.125 (0.125 to 0.125)", "31.0 (31.0 to 31.0)"},
		{"released with the paper", "90 to 100", 1, "0.060 (0.060 to 0.060)", "50.0 (50.0 to 50.0)"}}
	if got := s.ByAccuracy(lines.Models{network("f", "clean", 0.95, 0.45, 0.06)}).Rows; !reflect.DeepEqual(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}

// Networks that cannot be made are not waited for.
func TestNetworksThatCannotBeMade(t *testing.T) {
	s := world(t, false, func(name string) bool { return name != "C/conv8/clean/biprop-0.95-global@1" })
	if !strings.HasPrefix(s.State(), "PARTIAL: 170 of 171") {
		t.Error(s.State())
	}
	s.failed = []store.Failure{{Model: "C/conv8/clean/biprop-0.95-global@1"}}
	if want := "complete: 170 of 171 networks, tier cpu; pruning leaves nothing of a layer of the other 1"; s.State() != want {
		t.Errorf("state %q, want %q", s.State(), want)
	}
}

// What is not there yet has no verdict.
func TestAPartialStudy(t *testing.T) {
	folder := written(t, false, func(name string) bool { return strings.HasPrefix(name, "C/conv8/clean/") })
	s := OpenStudy(folder)
	if !strings.HasPrefix(s.State(), "PARTIAL: 19 of 171") {
		t.Error(s.State())
	}
	if all := verdictsOf(t, folder, "C/table2", "augmented"); len(all) != 0 {
		t.Errorf("%d claims about networks that are not there", len(all))
	}
	s = OpenStudy(filepath.Join(t.TempDir(), "none"))
	if !strings.HasPrefix(s.State(), "not here yet") {
		t.Error(s.State())
	}
}
