//go:build external && !noxla

package external

import (
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	cdpruntime "github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"

	"github.com/certspec/certspec/internal/testkit"
	"github.com/certspec/certspec/rs/bound"
)

// siteBudget is the time that the pages in a browser may take, the building of the site included.
const siteBudget = 4 * time.Minute

// browser starts a headless Chromium that is there, or one that is unpacked into the cache. What goes wrong in a page, and every address
// that is none of a file, ends up in the list.
func browser(t *testing.T) (ctx context.Context, wrong func() []string) {
	return newBrowser(t, siteBudget)
}

// newBrowser is a browser for so long.
func newBrowser(t *testing.T, budget time.Duration) (ctx context.Context, wrong func() []string) {
	t.Helper()
	options := append(slices.Clone(chromedp.DefaultExecAllocatorOptions[:]), chromedp.NoSandbox)
	found := false
	for _, name := range []string{"chromium-headless-shell", "chromium", "chromium-browser", "google-chrome"} {
		if file, err := exec.LookPath(name); err == nil && !found {
			options, found = append(options, chromedp.ExecPath(file)), true
		}
	}
	if !found {
		root := debian(t, "chromium", withDependencies("chromium-headless-shell")...)
		libraries, _ := filepath.Glob(filepath.Join(root, "usr/lib/*-linux-gnu*"))
		apart, _ := filepath.Glob(filepath.Join(root, "usr/lib/*-linux-gnu*/pulseaudio")) // what libpulse finds by its absolute path
		libraries = append(libraries, apart...)
		options = append(options, chromedp.ExecPath(filepath.Join(root, "usr/lib/chromium/chromium-headless-shell")),
			chromedp.Env("LD_LIBRARY_PATH="+strings.Join(libraries, ":")))
	}
	ctx, cancel := context.WithTimeout(context.Background(), budget)
	t.Cleanup(cancel)
	ctx, cancel = chromedp.NewExecAllocator(ctx, options...)
	t.Cleanup(cancel)
	ctx, cancel = chromedp.NewContext(ctx)
	t.Cleanup(cancel)
	var list []string
	var mutex sync.Mutex
	err := chromedp.Listen(ctx, func(event any) {
		mutex.Lock()
		defer mutex.Unlock()
		switch e := event.(type) {
		case *network.EventRequestWillBeSent:
			if u := e.Request.URL; !strings.HasPrefix(u, "file:") && !strings.HasPrefix(u, "data:") && !strings.HasPrefix(u, "blob:") {
				list = append(list, "it asks for "+u)
			}
		case *cdpruntime.EventExceptionThrown:
			list = append(list, fmt.Sprint(e.ExceptionDetails.Text, " ", e.ExceptionDetails.Exception.Description))
		case *cdpruntime.EventConsoleAPICalled:
			list = append(list, fmt.Sprint("on the console: ", e.Type))
		case *log.EventEntryAdded:
			list = append(list, e.Entry.Text)
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := chromedp.Call(ctx, network.Enable, network.EnableParams{}); err != nil {
		t.Fatal(err)
	}
	return ctx, func() []string {
		mutex.Lock()
		defer mutex.Unlock()
		defer func() { list = nil }()
		return list
	}
}

// do runs an action in the page.
func do[T any](t *testing.T, ctx context.Context, action chromedp.Action[T]) T {
	t.Helper()
	answer, err := chromedp.Run(ctx, action)
	if err != nil {
		t.Fatal(err)
	}
	return answer
}

// js is the value of an expression in the page.
func js[T any](t *testing.T, ctx context.Context, expression string) T {
	t.Helper()
	return do(t, ctx, chromedp.Evaluate[T](expression))
}

func open(t *testing.T, ctx context.Context, file string) {
	t.Helper()
	do(t, ctx, chromedp.Navigate((&url.URL{Scheme: "file", Path: filepath.ToSlash(file)}).String()))
}

// scheme has pages shown in light or in dark.
func scheme(t *testing.T, ctx context.Context, name string) {
	t.Helper()
	features := []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: name}}
	if _, err := chromedp.Call(ctx, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Features: features}); err != nil {
		t.Fatal(err)
	}
}

// The pages of "make site", opened as files: certcheck's verdicts and words on a good ledger and twenty altered ones, the lesson's numbers,
// every page without a network, formulas and pictures that show.
func TestSite(t *testing.T) {
	site, folder := t.TempDir(), t.TempDir()
	goDo := func(env []string, args ...string) {
		cmd := exec.Command("go", args...)
		cmd.Dir, cmd.Env = "../..", append(os.Environ(), env...)
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("go %v: %v\n%s", args, err, out)
		}
	}
	goDo(nil, "run", "./tools/site", "-o", site)
	ledger, other, integers, images := replays(t)
	ctx, wrong := browser(t)
	certcheck := filepath.Join(folder, "certcheck"+map[string]string{"windows": ".exe"}[runtime.GOOS])
	goDo(nil, "build", "-o", certcheck, "./cmd/certcheck")
	native := func(name string) (code int, said string, took time.Duration) {
		cmd := exec.Command(certcheck, name)
		cmd.Dir = folder
		var out bytes.Buffer
		cmd.Stdout, cmd.Stderr = &out, &out
		began := time.Now()
		err := cmd.Run()
		if exit := new(exec.ExitError); err != nil && !errors.As(err, &exit) {
			t.Fatal(err)
		}
		return cmd.ProcessState.ExitCode(), out.String(), time.Since(began)
	}

	t.Run("Size", func(t *testing.T) {
		total := 0
		for _, name := range []string{"check.html", "lesson.html"} {
			data := testkit.Read(t, site, name)
			var small bytes.Buffer
			w := gzip.NewWriter(&small)
			w.Write(data)
			w.Close()
			t.Logf("%s: %d bytes, %d compressed", name, len(data), small.Len())
			total += small.Len()
		}
		if total >= 3e6 {
			t.Errorf("the two pages with programs have %d bytes compressed, want less than 3 MB", total)
		}
	})

	type result struct{ File, Verdict, Words, Lines string }
	// check has the page check files of folder, by the field for files.
	check := func(t *testing.T, names ...string) (results []result) {
		t.Helper()
		var files []string
		for _, name := range names {
			files = append(files, filepath.Join(folder, name))
		}
		open(t, ctx, filepath.Join(site, "check.html"))
		do(t, ctx, chromedp.SetUploadFiles("#file", files))
		do(t, ctx, chromedp.Poll[bool](fmt.Sprintf(`document.querySelectorAll(".result").length === %d`, len(names)), chromedp.WithPollingTimeout(0)))
		results = js[[]result](t, ctx, `[...document.querySelectorAll(".result")].reverse().map((r) => ({
				File: r.dataset.file, Verdict: r.querySelector("h2").textContent, Words: r.querySelector(".words").textContent,
				Lines: r.querySelector(".lines") ? r.querySelector(".lines").textContent : "" }))`)
		if got := wrong(); len(got) > 0 {
			t.Errorf("the page of the checker: %q", got)
		}
		return results
	}

	t.Run("Good", func(t *testing.T) {
		const name = "fmnist-cnn-s025.ledger"
		text := testkit.Read(t, "../../notebooks/results/"+name)
		testkit.Write(t, text, folder, name)
		results := check(t, name)
		code, said, took := native(name)
		if len(results) != 1 || code != 0 || results[0].Words != said || !strings.HasPrefix(results[0].Verdict, "All holds (") {
			t.Fatalf("certcheck says %q, the page %q: %q", said, results[0].Verdict, results[0].Words)
		}
		if n := strings.Count(results[0].Lines, "\n✓ "); n < 10_000 {
			t.Errorf("%d claims are shown, want at least 10000", n)
		}
		seconds, _ := strconv.ParseFloat(regexp.MustCompile(`[\d.]+`).FindString(results[0].Verdict), 64)
		t.Logf("10,000 images: %.2f s in the page, %.2f s natively: %.1f times", seconds, took.Seconds(), seconds/took.Seconds())
	})

	t.Run("Altered", func(t *testing.T) {
		text := testkit.Read(t, "../../notebooks/results/quickstart.ledger")
		var names []string
		for i, a := range alterations {
			name := fmt.Sprintf("%02d-%s.ledger", i, strings.ReplaceAll(a.what, " ", "-"))
			testkit.Write(t, alter(t, string(text), i), folder, name)
			names = append(names, name)
		}
		for i, r := range check(t, names...) {
			code, said, _ := native(names[i])
			if code != 1 || r.File != names[i] || r.Words != said || !strings.HasPrefix(r.Verdict, "This does not hold") {
				t.Errorf("%s: certcheck says %q (exit code %d), the page %q: %q", names[i], said, code, r.Verdict, r.Words)
			}
			if r.Lines == "" {
				t.Errorf("%s: the page does not show the line of %q", names[i], r.Words)
			}
		}
		open(t, ctx, filepath.Join(site, "check.html"))
		js[any](t, ctx, `{
			const data = new DataTransfer();
			data.items.add(new File(["{}\n"], "empty.ledger"));
			document.getElementById("drop").dispatchEvent(new DragEvent("drop", { dataTransfer: data, cancelable: true }));
		}`)
		if dropped := do(t, ctx, chromedp.Text(".result .words")); !strings.Contains(dropped, "empty.ledger:1: not the header") {
			t.Errorf("of a dropped file the page says %q", dropped)
		}
	})

	type radius struct {
		Lower, Radius float64
		Error         string
	}
	t.Run("Lesson", func(t *testing.T) {
		open(t, ctx, filepath.Join(site, "lesson.html"))
		do(t, ctx, chromedp.Poll[bool](`document.getElementById("answer").textContent !== ""`))
		js[any](t, ctx, `for (const [id, value] of [["sigma", "0.5"], ["n", "5"], ["p", "3"], ["alpha", "0.01"]]) {
				document.getElementById(id).value = value;
				document.getElementById(id).dispatchEvent(new Event("input", { bubbles: true }));
			}`)
		answer := do(t, ctx, chromedp.Text("#answer"))
		p, err := bound.Lower(99950, 100000, 0.01)
		if err != nil {
			t.Fatal(err)
		}
		lower, r, err := bound.Certificate(0.5, p)
		if want := fmt.Sprintf("99,950 of 100,000 hits prove p ≥ %.6f, and with it the radius %.4f.", lower, r); err != nil || !strings.HasPrefix(answer, want) {
			t.Errorf("the lesson says %q, want %q", answer, want)
		}
		for _, n := range []int{1, 100, 10_000, 1_000_000} {
			for _, k := range []int{0, n / 2, n * 9 / 10, n - 1, n} {
				got := js[radius](t, ctx, fmt.Sprintf("certspecRadius(%d, %d, 0.001, 0.25)", k, n))
				p, err := bound.Lower(k, n, 0.001)
				if err != nil {
					t.Fatal(err)
				}
				lower, r, err := bound.Certificate(0.25, p)
				if err != nil || got.Error != "" || math.Abs(got.Lower-lower) > 2e-15 || math.Abs(got.Radius-r) > 1e-9*r {
					t.Errorf("%d of %d: the page has %v, Go %v and %v (%v)", k, n, got, lower, r, err)
				}
			}
		}
		if failed := js[radius](t, ctx, "certspecRadius(2, 1, 0.001, 0.25)"); failed.Error == "" {
			t.Error("two hits of one are no error")
		}
		if got := wrong(); len(got) > 0 {
			t.Errorf("the lesson: %q", got)
		}
	})

	t.Run("Replay", func(t *testing.T) {
		replayed(t, ctx, filepath.Join(site, "replay.html"), wrong, ledger, other, integers, images)
	})

	t.Run("Pages", func(t *testing.T) {
		formulas := 0
		err := filepath.WalkDir(site, func(file string, d fs.DirEntry, err error) error {
			if err != nil || filepath.Ext(file) != ".html" {
				return err
			}
			open(t, ctx, file)
			page := js[struct {
				Formulas int
				Broken   []string
				Wide     bool
			}](t, ctx, `({
				Formulas: document.querySelectorAll("math").length,
				Wide: document.documentElement.scrollWidth > document.documentElement.clientWidth,
				Broken: [...document.images].filter((i) => i.naturalWidth === 0 || !i.alt).map((i) => "picture " + i.alt + i.src.slice(0, 80)).concat(
					[...document.querySelectorAll("math")].filter((m) => m.getBoundingClientRect().width < 4 || m.querySelector("merror")).map((m) => m.textContent)),
			})`)
			name, _ := filepath.Rel(site, file)
			if formulas += page.Formulas; len(page.Broken) > 0 || page.Wide {
				t.Errorf("%s: wider than the window: %v; not shown, or without words: %q", name, page.Wide, page.Broken)
			}
			if got := wrong(); len(got) > 0 {
				t.Errorf("%s: %q", name, got)
			}
			return nil
		})
		if err != nil || formulas < 50 {
			t.Errorf("%d formulas, want at least 50: %v", formulas, err)
		}
	})

	t.Run("Dark", func(t *testing.T) {
		var grounds [2]string
		for i, name := range []string{"light", "dark"} {
			scheme(t, ctx, name)
			open(t, ctx, filepath.Join(site, "index.html"))
			grounds[i] = js[string](t, ctx, "getComputedStyle(document.body).backgroundColor")
		}
		if grounds[0] == grounds[1] {
			t.Errorf("light and dark have the same ground, %s", grounds[0])
		}
	})

	if shots := os.Getenv("CERTSPEC_SCREENSHOTS"); shots != "" { // a folder, for who wants to look
		do(t, ctx, chromedp.EmulateViewport(1000, 1400))
		for _, name := range []string{"check", "lesson", "index", "notebooks/certification"} {
			for _, colours := range []string{"light", "dark"} {
				scheme(t, ctx, colours)
				open(t, ctx, filepath.Join(site, name+".html"))
				if name == "check" {
					do(t, ctx, chromedp.SetUploadFiles("#file", []string{filepath.Join(folder, "00-alpha.ledger"), filepath.Join(folder, "fmnist-cnn-s025.ledger")}))
					do(t, ctx, chromedp.Poll[bool](`document.querySelector(".good") !== null`))
				}
				if err := os.WriteFile(filepath.Join(shots, filepath.Base(name)+"-"+colours+".png"), do(t, ctx, chromedp.CaptureScreenshot()), 0o644); err != nil {
					t.Error(err)
				}
			}
		}
	}
}

// alterations change one thing of the quickstart's ledger each. The digest is put right where seal says so.
var alterations = []struct {
	what, pattern, with string
	seal                bool
}{
	{"alpha", `"alpha":0.001,`, `"alpha":0.002,`, true},
	{"sigma", `"sigma":0.25`, `"sigma":0.26`, true},
	{"images", `"images":500`, `"images":501`, true},
	{"version", `"version":1,"program"`, `"version":7,"program"`, true},
	{"unknown rule", `"name":"staged"`, `"name":"lucky"`, true},
	{"unknown key", `"order":`, `"luck":1,"order":`, true},
	{"level of a look", `"copies":100,"alpha":0.000125`, `"copies":100,"alpha":0.00025`, true},
	{"noise samples of a look", `"copies":6400,`, `"copies":6450,`, true},
	{"count", `(?m)^(\d+ -?\d+ 1 2 0 \d+:)100$`, "${1}99", true},
	{"class", `(?m)^(\d+ -?\d+ 1 2 0 )\d+:100$`, "${1}77:100", true},
	{"label", `(?m)^(\d+) -?\d+ 1 2 `, "${1} -5 1 2 ", true},
	{"block", `(?m)^(\d+ -?\d+) 1 2 `, "$1 1 3 ", true},
	{"look left out", `(?m)^\d+ -?\d+ 3 5 .*\n`, "", true},
	{"look twice", `(?m)^(\d+ -?\d+ 2 3 .*\n)`, "$1$1", true},
	{"number of claims", `claims 500`, "claims 499", true},
	{"hits of a claim", `(?m)^(\d+ \d+) 10000 10000 `, "$1 9999 10000 ", true},
	{"lower bound", `(?m)^(\d+ \d+ 10000 10000 0\.\d{8})\d`, "${1}9", true},
	{"radius", `(?m)^(\d+ \d+ 10000 10000 \S+ 0\.7)\d`, "${1}9", true},
	{"average radius", `(?m)^acr 0\.(\d)`, "acr 0.9$1", true},
	{"digest", `(?m)^sha256 .`, "sha256 g", false},
}

// alter is a ledger with alteration i.
func alter(t *testing.T, ledger string, i int) []byte {
	t.Helper()
	a := alterations[i]
	at := regexp.MustCompile(a.pattern).FindStringSubmatchIndex(ledger)
	if at == nil {
		t.Fatalf("%s: %s is not in the ledger", a.what, a.pattern)
	}
	altered := ledger[:at[0]] + string(regexp.MustCompile(a.pattern).ExpandString(nil, a.with, ledger, at)) + ledger[at[1]:]
	if altered == ledger {
		t.Fatalf("%s: nothing was altered", a.what)
	}
	if a.seal {
		body := altered[:strings.LastIndex(altered, "sha256 ")]
		altered = body + fmt.Sprintf("sha256 %x\n", sha256.Sum256([]byte(body)))
	}
	return []byte(altered)
}
