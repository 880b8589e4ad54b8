package experiment

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/certspec/certspec/dataset"
	"github.com/certspec/certspec/resample"
)

// A measure of one's own is asked for by its key with settings, is done once, and stands in the tables and in the caption.
func TestOwnMeasure(t *testing.T) {
	file := tinyFile(t, "  own:\n    title: Own\n    rows: [tiny/g]\n    measure: {lit: {from: 150}}\n")
	o := tiny(t, file)
	o.Table = "own"
	e, err := Plan(o)
	if err != nil {
		t.Fatal(err)
	}
	if len(e.Jobs) != 2 || e.Jobs[1].String() != "look tiny/g@1" {
		t.Fatalf("jobs: %v", e.Jobs)
	}
	if err := Run(t.Context(), o); err != nil {
		t.Fatal(err)
	}
	f, err := Fill(t.Context(), o.Folder, "own", resample.Options{})
	if err != nil {
		t.Fatal(err)
	}
	// The images of tinyFile have a first byte of at least 170 where the label is 0, and below 100 else.
	d, err := dataset.Open(with(e.Manifest.Models[0].Test, e.Manifest.Tier.Clean))
	if err != nil {
		t.Fatal(err)
	}
	images, err := d.Load(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	want := 0.0
	for _, label := range images.Labels {
		if label == 0 {
			want += 1 / float64(images.Len())
		}
	}
	tables := f.Tables()
	if len(tables) != 1 || len(tables[0].Rows) != 1 || tables[0].Rows[0][1] != want || tables[0].Title != "Own: lit images" || !strings.Contains(strings.Join(f.Notes, " "), "Lit from 150.") {
		t.Errorf("%+v; want %v", tables[0], want)
	}
	text, err := os.ReadFile(filepath.Join(o.Folder, "manifest.json"))
	if err != nil || !strings.Contains(string(text), `"lit": {`) {
		t.Errorf("the manifest does not keep the settings: %s", text)
	}
	for i, j := range e.Jobs {
		if done, err := e.Manifest.Done(o.Folder, j); err != nil || !done {
			t.Errorf("job %d is not done: %v", i, err)
		}
	}

	for want, measure := range map[string]string{
		`unknown key "lti"; the nearest is "lit"`: "{lti: {from: 1}}",
		`unknown key "form"; the nearest is`:      "{lit: {form: 1}}",
		"expected keys and values":                "{lit: 3}",
	} {
		o := tiny(t, tinyFile(t, "  bad:\n    title: Bad\n    rows: [tiny/g]\n    measure: "+measure+"\n"))
		if _, err := Plan(o); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v; want it to say %q", measure, err, want)
		}
	}
	for _, key := range []string{"lit", "clean", "agreement"} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("the key %q was taken twice", key)
				}
			}()
			RegisterMeasure(key, func() Measure { return new(agreementMeasure) })
		}()
	}
}
