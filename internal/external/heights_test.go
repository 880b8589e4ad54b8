//go:build external && !noxla

package external

import (
	"context"
	"testing"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"

	"github.com/certspec/certspec/internal/jupyter"
	"github.com/certspec/certspec/internal/testkit"
	"github.com/certspec/certspec/progress"
)

// The notebook of a paper is at most 12,000 pixels high at a width of 1,100, where what is folded counts half, and
// nothing in it is wider than the page.
func TestHeightsOfPaperNotebooks(t *testing.T) {
	ctx, _ := browser(t)
	size := emulation.SetDeviceMetricsOverrideParams{Width: 1100, Height: 900, DeviceScaleFactor: 1}
	if _, err := chromedp.Call(ctx, emulation.SetDeviceMetricsOverride, size); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"fouriermix", "act", "guaranteed-ood", "out-of-line"} {
		data := testkit.Read(t, "..", "..", "notebooks", name+".ipynb")
		copied := testkit.Write(t, data, t.TempDir(), name+".ipynb")
		page, err := jupyter.Page(context.Background(), copied, progress.Messages(t.Logf))
		if err != nil {
			t.Fatal(err)
		}
		open(t, ctx, page)
		const height = `Math.max(...[...document.querySelectorAll(".jp-Cell")]
			.map(c => c.getBoundingClientRect().bottom + scrollY))`
		closed := js[float64](t, ctx, height)
		wide := js[[]string](t, ctx, `[...document.querySelectorAll("table, img, svg, pre")]
			.filter(e => !e.closest("details") && e.getBoundingClientRect().right > 1101)
			.map(e => e.tagName + " " + e.textContent.slice(0, 40))`)
		opened := js[float64](t, ctx, `document.querySelectorAll("details").forEach(d => d.open = true), `+height)
		t.Logf("%s: %.0f pixels, %.0f with all folds open", name, closed, opened)
		if half := closed + (opened-closed)/2; half > 12_000 {
			t.Errorf("%s: %.0f pixels high where what is folded counts half, at most 12,000", name, half)
		}
		if len(wide) > 0 {
			t.Errorf("%s: wider than the page: %q", name, wide)
		}
	}
}
