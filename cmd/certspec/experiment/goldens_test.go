package experiment

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/json"
	"flag"
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/certspec/certspec/internal/experiment/plan"
	"github.com/certspec/certspec/internal/experiment/recipe"
	"github.com/certspec/certspec/internal/experiment/results"
	"github.com/certspec/certspec/internal/experiment/store"
	"github.com/certspec/certspec/internal/testkit"
	"github.com/certspec/certspec/resample"
	"github.com/certspec/certspec/table"
)

var (
	update = flag.Bool("update", false, "write the digests anew")
	whole  = flag.String("whole", "", "folder that takes the texts behind the digests, to compare them")
)

const (
	committed = "../../../notebooks/results"
	goldens   = committed + "/experiments/goldens.txt"
)

// Every table of the committed folders, in every form, with the numbers of its figures: none changes unless a change
// means it. The digests say which do; go test -whole FOLDER, before and after, says how.
func TestGoldens(t *testing.T) {
	found := map[string]string{}
	keep := func(name, text string) {
		text = shortNumbers(text)
		found[name] = fmt.Sprintf("%x", sha256.Sum256([]byte(text)))[:16]
		if *whole != "" {
			testkit.Write(t, []byte(text), *whole, strings.NewReplacer("/", "-", " ", "-").Replace(name))
		}
	}
	library, err := recipe.Open()
	if err != nil {
		t.Fatal(err)
	}
	folders, err := filepath.Glob(committed + "/experiments/*/manifest.json")
	if err != nil || len(folders) != 19 {
		t.Fatalf("%d folders: %v", len(folders), err)
	}
	for _, manifest := range append(folders, committed+"/maps/manifest.json") {
		folder := filepath.Dir(manifest)
		m, err := store.ReadManifest(folder)
		if err != nil {
			t.Fatal(err)
		}
		_, status, err := plan.Status(folder)
		keep(filepath.Base(folder)+" left", asJSON(t, status, err))
		for i := range m.Tables {
			keepTable(t, keep, library, folder, m.Tables[i].Name)
		}
	}
	for _, pilot := range []string{"A", "A-scratch"} {
		p, err := plan.Power(t.Context(), plan.Options{Table: "sun2021/table2", Tier: "T0"},
			filepath.Join(committed, "experiments", pilot), "")
		keep(pilot+" power", asJSON(t, p, err))
	}
	compare(t, found)
}

func keepTable(t *testing.T, keep func(name, text string), library *recipe.Library, folder, name string) {
	id := filepath.Base(folder) + " " + name
	resamples := 200
	if strings.HasPrefix(filepath.Base(folder), "D") {
		resamples = 20 // of certified errors, which take long
	}
	f, err := results.Fill(t.Context(), folder, name, resample.Options{Resamples: resamples})
	if err != nil {
		t.Fatalf("%s: %v", id, err)
	}
	keep(id+" json", asJSON(t, f, nil))
	tables := f.Tables()
	if built, err := library.Table(name); err == nil && built.Published != nil {
		tables = append(tables, f.Beside(built.Published))
	}
	for _, form := range table.Forms {
		var all bytes.Buffer
		for _, one := range tables {
			text, _ := one.Render(form)
			all.WriteString(text)
		}
		keep(id+" "+form, all.String())
	}
	draw := func(figure string, p *picture, err error) {
		if err == nil {
			keep(id+" "+figure, asJSON(t, p.numbers, nil)+fmt.Sprint(p.rows))
		}
	}
	p, err := changePicture(f, false)
	draw(changes, p, err)
	p, err = changePicture(f, true)
	draw(bestChanges, p, err)
	p, err = mapPicture(f)
	draw(heatMaps, p, err)
	for _, figure := range []string{correlations, groups, costs} {
		o := tableOptions{figure: figure, severity: 3, radius: 0.25, bootstrap: resample.Options{Resamples: 5}}
		p, err = o.picture(t.Context(), folder, name)
		draw(figure, p, err)
	}
}

func asJSON(t *testing.T, v any, err error) string {
	t.Helper()
	text, err2 := json.MarshalIndent(v, "", " ")
	if err := cmp.Or(err, err2); err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// shortNumbers cuts numbers of full length to nine digits: the last ones depend on the processor.
func shortNumbers(text string) string {
	long := regexp.MustCompile(`-?\d+\.\d{10,}(e-?\d+)?`)
	return long.ReplaceAllStringFunc(text, func(number string) string {
		v, err := strconv.ParseFloat(number, 64)
		if err != nil {
			return number
		}
		return strconv.FormatFloat(v, 'g', 9, 64)
	})
}

func compare(t *testing.T, found map[string]string) {
	var lines []string
	for name, digest := range found {
		lines = append(lines, name+"\t"+digest)
	}
	slices.Sort(lines)
	if *update {
		testkit.Write(t, []byte(strings.Join(lines, "\n")+"\n"), goldens)
		return
	}
	text := testkit.Read(t, goldens)
	kept := strings.Split(strings.TrimSpace(string(text)), "\n")
	for _, line := range kept {
		name, digest, _ := strings.Cut(line, "\t")
		if found[name] != digest {
			t.Errorf("%s is no longer what it was", name)
		}
	}
	if len(kept) != len(lines) {
		t.Errorf("%d texts; expected %d", len(lines), len(kept))
	}
}
