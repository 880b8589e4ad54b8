package lines

import (
	"strings"
	"testing"
)

func TestReadCSV(t *testing.T) {
	text := `# made by hand
model,group,clean,fog,jacobian_norm,seed,depth
a,standard,9000/10000,81.5%,3.25,1,8
b,robust,8800/10000,,4,2,16
`
	models, err := readCSV("t.csv", strings.NewReader(text), CSV{Labels: []string{"seed"}, Numbers: []string{"depth"}, Images: map[string]int{"fog": 50_000}})
	if err != nil {
		t.Fatal(err)
	}
	a, b := models[0], models[1]
	if a.Accuracies["clean"] != (Accuracy{0.9, 10_000}) || a.Accuracies["fog"] != (Accuracy{0.815, 50_000}) || a.Numbers["jacobian_norm"] != 3.25 ||
		a.Labels["group"] != "standard" || a.Labels["seed"] != "1" || b.Numbers["depth"] != 16 {
		t.Errorf("%+v", models)
	}
	if len(b.Accuracies)+len(b.Numbers) != len(models.Fields())-1 || b.Accuracies["fog"] != (Accuracy{}) {
		t.Errorf("one cell is blank, fog: %+v", b)
	}
}

func TestColumnOfImages(t *testing.T) {
	models, err := readCSV("t.csv", strings.NewReader("model,clean,fog,n\na,0.9,3/4,1000\nb,0.8,0.5,\n"), CSV{Unit: unitShare})
	if err != nil {
		t.Fatal(err)
	}
	if got := models[0].Accuracies; len(got) != 2 || got["clean"] != (Accuracy{0.9, 1000}) || got["fog"] != (Accuracy{0.75, 4}) {
		t.Errorf("%+v", got)
	}
	if got := models[1].Accuracies["clean"]; got != (Accuracy{0.8, 0}) {
		t.Errorf("%+v", got)
	}
	models, err = readCSV("t.csv", strings.NewReader("model,clean,n\na,0.9,12\n"), CSV{Unit: unitShare, Numbers: []string{"n"}})
	if err != nil || models[0].Numbers["n"] != 12 || models[0].Accuracies["clean"].N != 0 {
		t.Errorf("%+v, %v", models, err)
	}
}

func TestReadCSVRefuses(t *testing.T) {
	for _, c := range []struct {
		text string
		o    CSV
		want string
	}{
		{"model,clean\na,0.9\n", CSV{}, "t.csv: line 2: clean: \"0.9\" has no unit"},
		{"model,clean\na,88\n", CSV{Unit: unitShare}, "are these percent?"},
		{"model,clean\na,101\n", CSV{Unit: unitPercent}, "between 0 and 100"},
		{"model,clean\na,-0.1\n", CSV{Unit: unitShare}, "between 0 and 1"},
		{"model,clean\na,NaN\n", CSV{Unit: unitShare}, "between 0 and 1"},
		{"model,clean\na,11/10\n", CSV{}, "11 correct of 10 images"},
		{"model,clean\na,1.5/10\n", CSV{}, "both whole numbers"},
		{"model,clean\na,5/0\n", CSV{}, "n of at least 1"},
		{"model,clean\na,5/10\n", CSV{Images: map[string]int{"clean": 20}}, "20 images are said"},
		{"model,clean\na,1/2\na,1/2\n", CSV{}, "stands twice"},
		{"model,clean\n,1/2\n", CSV{}, "without a name"},
		{"name,clean\na,1/2\n", CSV{}, "no column \"model\""},
		{"model,clean,clean\na,1/2,1/2\n", CSV{}, "stands twice"},
		{"model,clean\na,1/2\n", CSV{Numbers: []string{"claen"}}, "did you mean \"clean\""},
		{"model,clean\na,1/2,3/4\n", CSV{}, "line 2: wrong number of fields"},
		{"model,clean\n", CSV{}, "no models"},
		{"", CSV{}, "empty"},
		{"model,clean,n\na,0.5,0\n", CSV{Unit: unitShare}, "line 2: n: \"0\", want the number of images"},
		{"model,depth\na,Inf\n", CSV{Numbers: []string{"depth"}}, "finite"},
		{"model,clean\na,0.5\n", CSV{Unit: "permille"}, "unit \"permille\""},
	} {
		models, err := readCSV("t.csv", strings.NewReader(c.text), c.o)
		if err == nil {
			err = models.Check()
		}
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%q: %v; expected %q", c.text, err, c.want)
		}
	}
}

func FuzzReadCSV(f *testing.F) {
	f.Add("model,g,a\nx,s,1/2\n", "share")
	f.Add("model,a\nx,50%\n", "percent")
	f.Fuzz(func(t *testing.T, text, unit string) {
		models, err := readCSV("t.csv", strings.NewReader(text), CSV{Unit: Unit(unit)})
		if err != nil || models.Check() != nil {
			return
		}
		for _, m := range models {
			for field := range m.Accuracies {
				if _, _, err := m.Value(field, Clip{Share: 0.001}); err != nil {
					t.Errorf("a model that was read has no probit: %v", err)
				}
			}
		}
	})
}

func FuzzReadRobustNets(f *testing.F) {
	f.Add(`{"Conv8_clean_FT_globally_0.5":{"cifar10_acc":88}}`)
	f.Fuzz(func(t *testing.T, text string) {
		if models, err := readRobustNets("t.json", strings.NewReader(text)); err == nil && len(models) == 0 {
			t.Error("no models and no error")
		}
	})
}
