package layers

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/certspec/certspec/internal/testkit"
)

// A condition is a sentence of a document that tells people what to do, not to do, or what is assumed.
type condition struct {
	document, sentence string // a part of it, as it stands there with single spaces
	check              string // the test that shows that the program sees it, or a reason below and why
}

// The reasons why a condition has no test.
const (
	unseen  = "the program cannot see it: "
	promise = "says what the program does, and asks nothing of people: "
)

var conditions = []condition{
	// images, models, noise
	{"docs/onnx.md", "Do not certify the images that gave ranges", "TestWarnsOfWhatItSees"},
	{"docs/onnx.md", "A trial batch must then give the same answers.", "TestSameAnswers"},
	{"docs/python.md", "The model must be deterministic, and its answer independent of the other images", "TestRunStopsWhereAnAnswerDependsOnItsBatch"},
	{"docs/soundness.md", "The bound assumes independent samples of one function", "TestModelThatChangesOnceIsNotCertified"},
	{"docs/soundness.md", "Where the assumptions hold", promise + "what other programs assume"},
	{"engine/pipe/PROTOCOL.md", "**Every certificate assumes that the program is a deterministic function of one image", "TestRunStopsWhereAnAnswerDependsOnItsBatch"},
	{"engine/pipe/PROTOCOL.md", "Everything else that it prints must go to standard error", "TestBadPrograms"},
	{"engine/pipe/PROTOCOL.md", "do not clip unless the model itself does", unseen + "it is done in the other program; the ledger's function is the one that clips"},
	{"engine/pipe/PROTOCOL.md", "must say the same hello", "TestAnotherModelAfterRestart"},
	{"python/certspec/__init__.py", "It must be a function of one image, the same each time", "TestRunStopsWhereAnAnswerDependsOnItsBatch"},
	{"docs/integer-networks.md", "values between layers must be cut off at 0", "TestExactRefuses"},
	{"docs/reference/commands.md", "must draw new noise, or the bounds do not hold: the plan names a seed for it", "TestPlanFromALedger"},
	{"docs/reference/commands.md", "must draw new noise, by another --seed, or the certificates do not hold", unseen + "a derived seed is another one for other settings; who gives --seed knows what was looked at"},
	// bounds of networks
	{"docs/network-bounds.md", "or do not rely on the bound", "TestBoundsTakeNoEngine"},
	{"docs/network-bounds.md", "(`assumes` in a record's header)", promise + "names a field"},
	{"docs/network-bounds.md", "must lie in the interval bounds of the input", "TestLayersThatDifferAreRefused"},
	{"docs/network-bounds.md", "the output must be a softmax over the classes", "TestLastSoftmaxIsOverTheClasses"},
	{"docs/network-bounds.md", "are assumed to differ between engines by less than", unseen + "other engines; that of certspec is compared"},
	{"docs/network-bounds.md", "log-softmax is assumed to subtract its largest input first", unseen + "other engines; that of certspec is compared"},
	{"docs/speed.md", "stay direct | rigorous bounds do not hold", "TestBoundsTakeNoEngine"},
	{"docs/speed.md", "products summed in float32 | rigorous bounds do not hold", "TestBoundsTakeNoEngine"},
	{"docs/ood-files.md", "`assumes` what bounds assume of float32", promise + "names a field"},
	{"docs/ood-files.md", "They must be none of the others and none of training", "TestMeasureRefuses"},
	{"docs/reference/commands.md", "Every image must satisfy confidence ≤ confidence under attack ≤ bound", "TestVerify"},
	{"docs/reference/commands.md", "answer different questions, and do not belong in one column", unseen + "tables are put together by people; each verb names its quantity"},
	// calibration
	{"docs/calibration.md", "do not compare it with the ECE", unseen + "people compare; both are printed with their names"},
	{"docs/calibration.md", "Test and band assume independent samples.", unseen + "a file of confidences does not say how its rows came about"},
	{"docs/calibration.md", "only if g, its method and its objective did not see the judged images", "TestRecalibrate"},
	{"docs/prediction-sets.md", "Clean images must be exchangeable.", "TestWarnsOfWhatItSees"},
	{"docs/ledger-questions.md", "so the worst is assumed", promise + "a bound"},
	// gates, ledgers, files
	{"docs/gate.md", "must not lose certified accuracy", promise + "for whom the page is"},
	{"docs/attestation.md", "must show a verdict to others", promise + "for whom the page is"},
	{"docs/reference/commands.md", "Names and shapes must agree.", "TestPruneAndInterpolate"},
	{"docs/reference/commands.md", "The exit code is 0 only if everything holds.", "TestLedgerVerify"},
	{"docs/reference/commands.md", "Models must have equal σ, α and rule", "TestPointsRefuse"},
	{"docs/reference/commands.md", "What several parts have must be equal.", "TestMergeRefuses"},
	// packages of Go
	{"augment/augmix.go", "The image must be bytes over 255", "TestBadImages"},
	{"calib/population.go", "It does not hold where the number of noise samples of an image depends on other", "TestAnytimeKeepsNoScores"},
	{"classifier/classifier.go", "contradict what every certificate assumes", promise + "an error"},
	{"classifier/func.go", "It must be a function of the image alone", "TestRunStopsWhereAnAnswerDependsOnItsBatch"},
	{"classifier/random.go", "A certificate for it must abstain", promise + "a toy model"},
	{"corrupt/corrupt.go", "and do not overlap", unseen + "slices of the caller; one in the place of the other is a mistake that no byte shows"},
	{"dataset/imageset/imageset.go", "Index finds images only if it ascends", promise + "what is found"},
	{"engine/engine.go", "It must not be changed.", unseen + "memory of the caller"},
	{"engine/layers.go", "each value must lie in rigorous bounds", "TestLayersThatDifferAreRefused"},
	{"engine/layers.go", "and of the file only if they were read as its author meant", "TestLayersSayWhetherTheyWereCompared"},
	{"engine/classnames.go", "assumed, or taken from options and card", promise + "what is found"},
	{"engine/engine.go", "what was assumed of an ONNX file", promise + "what is found"},
	{"engine/onnx/model.go", "which must not be changed as long as the network is not loaded", unseen + "memory of the caller"},
	{"engine/onnx/model.go", "Details holds values found in the file, assumed", promise + "what is found"},
	{"engine/onnx/model.go", "what was found and what was assumed", promise + "what is found"},
	{"engine/pipe/inherited.go", "Both must be pipes or sockets.", "TestInheritedSilence"},
	{"engine/pipe/pipe.go", "only if they lie on the grid of multiples of 1/255", "TestWhatCannotBeAsked"},
	{"feedforward/scale.go", "with ε each must be a number that float32 keeps", "TestSubnormalDivisorsAreRefused"},
	{"feedforward/compare.go", "Each must lie within rigorous interval bounds.", "TestLayersThatDifferAreRefused"},
	{"feedforward/parts.go", "and must not be changed", unseen + "memory of the caller"},
	{"gomlxmodels/attack/adversary.go", "what an adversary of calibration must beat", promise + "an attack"},
	{"lines/agreement.go", "They do not hold the error of the method", unseen + "the error of a method without labels; its interval says what it holds"},
	{"lines/certified/certified.go", "Setting holds all that must be equal where certificates are compared.", "TestPointsRefuse"},
	{"lines/predictions.go", "every model must be on both sides", "TestLinesRefuse"},
	{"nb/table.go", "what a reader must know beside the numbers", promise + "a field"},
	{"ood/unseen.go", "Parts of one set must be ranges that do not meet", "TestMeasureRefuses"},
	{"rs/canonical.go", "The output must not exist", "TestLedgerMergeCanonicalExport"},
	{"rs/certifyone.go", "Options.Ledger, Options.Shard and Options.Scores must be unset.", "TestCertifyOneRefuses"},
	{"rs/merge.go", "What several ledgers have must be equal", "TestMergeRefuses"},
	{"rs/noise/gaussian.go", "where dst does not hold whole images", "TestMisusePanics"},
	{"rs/noise/grid.go", "and must be counted as a miss", "TestFailedSamples"},
	{"rs/noise/grid.go", "and each must count as a miss", "TestFailedSamples"},
	{"rs/noise/grid.go", "where dst does not hold whole images", "TestMisusePanics"},
	{"nb/nb.go", "[Assert] where something does not hold", promise + "when a cell ends"},
	{"python/certspec/_verbs.py", "The images and labels must be the run's.", "TestReplayRefuses"},
	{"python/certspec/_verbs.py", "images and labels must be the run's, as for replay.", "TestAttackOnOtherImages"},
	{"rs/rule/rule.go", "must reach 1/α", promise + "a proof"},
	{"rs/verify.go", "and must have been closed with it", "TestReadersRefuseBrokenHeaders"},
	{"rs/verify.go", "What does not hold is a *ledger.FormatError", promise + "an error"},
	{"study/context.go", "what two numbers must share to stand beside each other", "TestBeside"},
}

// conditional finds what tells people what to do, not to do, or what is assumed.
var conditional = regexp.MustCompile(`(?:^|[.;:|(] +|\bor |\band )[Dd]o not \w|\bdon't\b|\bmust\b|\bonly if\b|` +
	`\bassum(?:e|es|ed)\b|\bis wrong (?:when|where)\b|\bdo(?:es)? not hold\b`)

// Every such sentence in the pages, the help, the docstrings and the comments of public packages has an entry: the
// program looks after it, as a test shows, or it cannot see it, and the entry says why.
func TestDocumentedConditionsAreSeen(t *testing.T) {
	documents := documentsOf(t)
	tests := namesOfTests(t)
	covered := map[string][][2]int{} // places in a document
	for _, c := range conditions {
		text, known := documents[c.document]
		if !known {
			t.Errorf("%s: there is no such document", c.document)
			continue
		}
		found := false
		for from := 0; ; {
			at := strings.Index(text[from:], c.sentence)
			if at < 0 {
				break
			}
			covered[c.document] = append(covered[c.document], [2]int{from + at, from + at + len(c.sentence)})
			from, found = from+at+1, true
		}
		if !found {
			t.Errorf("%s no longer says %q", c.document, c.sentence)
		}
		reason := strings.HasPrefix(c.check, unseen) || strings.HasPrefix(c.check, promise)
		if !reason && !tests[c.check] {
			t.Errorf("%s: %q: there is no test %s", c.document, c.sentence, c.check)
		}
	}
	for document, text := range documents {
		for _, at := range conditional.FindAllStringIndex(text, -1) {
			inside := false
			for _, c := range covered[document] {
				inside = inside || at[0] < c[1] && c[0] < at[1]
			}
			if !inside {
				t.Errorf("%s: …%s…: expected an entry of conditions, with the test or why the program cannot see it",
					document, strings.ToValidUTF8(text[max(0, at[0]-70):min(len(text), at[1]+70)], ""))
			}
		}
	}
}

// documentsOf are the texts that people read, with single spaces.
func documentsOf(t *testing.T) map[string]string {
	t.Helper()
	documents := map[string]string{}
	list := exec.Command("git", "ls-files", "*.md", "*.go", "python/certspec/*.py")
	list.Dir = "../.."
	out, err := list.Output()
	if err != nil {
		t.Skip("the sources are in no repository: ", err)
	}
	private := regexp.MustCompile(`(^|/)(internal|cmd|testdata)/|^(bench|examples|docs/picture|notebooks)/|_test\.go$`)
	page := regexp.MustCompile(`^docs/[^/]*\.md$|^README\.md$|^docs/reference/commands\.md$|^engine/pipe/PROTOCOL\.md$`)
	for _, name := range strings.Fields(string(out)) {
		path := filepath.Join("../..", filepath.FromSlash(name))
		text := ""
		switch {
		case strings.HasSuffix(name, ".go") && !private.MatchString(name):
			text = commentsOf(t, path)
		case page.MatchString(name), strings.HasSuffix(name, ".py"):
			b := testkit.Read(t, path)
			if text = string(b); strings.HasSuffix(name, ".py") {
				text = strings.Join(regexp.MustCompile(`(?s)""".*?"""`).FindAllString(text, -1), " ")
			}
		}
		if text != "" {
			documents[name] = strings.Join(strings.Fields(text), " ")
		}
	}
	return documents
}

// commentsOf are the comments of the exported declarations of a file.
func commentsOf(t *testing.T, path string) (text string) {
	t.Helper()
	f, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	text = f.Doc.Text()
	for _, d := range f.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			if d.Name.IsExported() {
				text += " " + d.Doc.Text()
			}
		case *ast.GenDecl:
			for _, s := range d.Specs {
				switch s := s.(type) {
				case *ast.TypeSpec:
					if s.Name.IsExported() {
						text += " " + d.Doc.Text() + " " + s.Doc.Text()
					}
				case *ast.ValueSpec:
					if s.Names[0].IsExported() {
						text += " " + d.Doc.Text() + " " + s.Doc.Text()
					}
				}
			}
		}
	}
	return text
}

func namesOfTests(t *testing.T) map[string]bool {
	t.Helper()
	grep := exec.Command("git", "grep", "-hoE", `^(func Test\w+|    def test_\w+)`)
	grep.Dir = "../.."
	out, err := grep.Output()
	if err != nil {
		t.Fatal(err)
	}
	names := map[string]bool{}
	for line := range strings.Lines(string(out)) {
		fields := strings.Fields(line)
		names[fields[len(fields)-1]] = true
	}
	return names
}
