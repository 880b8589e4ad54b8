package nb

import (
	"cmp"
	"fmt"
	"image"
	"image/color"
	"math"
	"slices"
	"strings"
	"unicode/utf8"

	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"github.com/certspec/certspec/dataset"
	"github.com/certspec/certspec/internal/figure"
	"github.com/certspec/certspec/pixel"
	"github.com/certspec/certspec/rs"
	"github.com/certspec/certspec/rs/noise"
)

// Gallery shows the images of certified rows with what is certified of them: the class, the label
// where it is another, and the radius. The settings, as those of rs.Run.Header, end the title.
func Gallery(data rs.Source, rows rs.Rows, settings ...string) *Figure {
	images, err := data.Load(Context())
	end(err)
	var tiles []tile
	for _, row := range rows {
		i := images.Index(row.Image)
		if i < 0 {
			end(fmt.Errorf("nb.Gallery: image %d is not in %s; the rows come from other data", row.Image, images.Name))
			return nil
		}
		t := tile{image: images.Image(i), wrong: row.Label >= 0 && !row.Correct()}
		if row.Certified() {
			t.words = []string{className(images, row.Class), fmt.Sprintf("radius %.3f", down(row.Radius))}
		} else {
			t.words = []string{"no certificate"}
		}
		if t.wrong {
			t.words = append(t.words, "label "+className(images, row.Label))
		}
		tiles = append(tiles, t)
	}
	title := fmt.Sprintf("%d images of %s with class and certified radius", len(tiles), setName(images.Name))
	if k := len(rows) - 1; k > 0 && rows[0].Certified() && rows[k].Certified() {
		first, last := fmt.Sprintf("%.3f", down(rows[0].Radius)), fmt.Sprintf("%.3f", down(rows[k].Radius))
		radii := "from radius " + first + " to " + last
		if first == last {
			radii = "each with radius " + first
		}
		title = fmt.Sprintf("%d images of %s, %s", len(tiles), setName(images.Name), radii)
	}
	f := mosaic(strings.Join(append([]string{title}, settings...), "; "), images.Shape, [][]tile{tiles}, nil)
	f.numbers = func() *Tabular {
		t := Columns("image", "label", "class", "radius")
		for _, row := range rows {
			t.Add(row.Image, className(images, row.Label), className(images, row.Class), row.Radius)
		}
		return t
	}
	return f
}

// Noisy shows the first count images of data without noise and, below, with noise of each
// standard deviation: the samples that a certification sees, clipped to what a screen can show.
func Noisy(data rs.Source, count int, sigmas ...float64) *Figure {
	images, err := data.Load(Context())
	end(err)
	count = min(count, images.Len())
	clean := make([]tile, count)
	for i := range clean {
		clean[i] = tile{image: images.Image(i), words: []string{className(images, images.Labels[i])}}
	}
	rows, names := [][]tile{clean}, []string{"no noise"}
	for _, sigma := range sigmas {
		grid, err := noise.NewGrid(sigma)
		end(err)
		row := make([]tile, count)
		for i := range row {
			row[i].image = noisy(grid, images.Image(i), images.IDs[i])
		}
		rows, names = append(rows, row), append(names, fmt.Sprintf("σ = %g", sigma))
	}
	return mosaic(fmt.Sprintf("%d images of %s: %s", count, setName(images.Name), listed(names)), images.Shape, rows,
		names)
}

// noisy is the image with one noise sample of the grid, clipped to bytes.
func noisy(grid *noise.Grid, image []uint8, id int) []uint8 {
	values := make([]int16, len(image))
	for i, b := range image {
		values[i] = int16(b)
	}
	samples := make([]int16, len(image))
	_, err := grid.AddTo(samples, values, noise.Address{Seed: 1, Image: uint64(id)}, 0, nil)
	end(err)
	out := make([]uint8, len(image))
	for i, v := range samples {
		out[i] = uint8(min(max(v, 0), 255))
	}
	return out
}

// setName is a data set without what chose its images.
func setName(name string) string {
	name, _, _ = strings.Cut(name, "[")
	return name
}

// broken is a text in lines of at most so many letters, as far as its words allow.
func broken(text string, letters int) []string {
	var lines []string
	for _, word := range strings.Fields(text) {
		if k := len(lines) - 1; k >= 0 && utf8.RuneCountInString(lines[k])+1+utf8.RuneCountInString(word) <= letters {
			lines[k] += " " + word
		} else {
			lines = append(lines, word)
		}
	}
	return lines
}

// down rounds a radius to three decimals, downwards: what a caption says is certified too.
func down(radius float64) float64 { return math.Floor(1000*radius) / 1000 }

func className(images *dataset.Images, label int) string {
	if label < 0 || label >= len(images.Classes) {
		return "unknown"
	}
	return images.Classes[label]
}

// tile is one image of a mosaic with its words.
type tile struct {
	image []uint8
	head  string   // the line above it
	words []string // lines below it
	wrong bool
}

// Sizes of a mosaic. All are whole PNG pixels, so that image pixels stay crisp.
const (
	pngPixel  = vg.Inch / (96 * figure.PNGScale)
	tileSize  = 192 // PNG pixels, about
	textLine  = 30
	letter    = 15  // of the name of a row, about
	nameWidth = 110 // at least
	gap       = 16
	margin    = 8
	perRow    = 6
)

// mosaic draws rows of images with their words below and the name of each row on the left.
// Without names, long rows are broken. The title stands above, and is the caption.
func mosaic(title string, shape pixel.Shape, rows [][]tile, names []string) *Figure {
	if shape.Channels != 1 && shape.Channels != 3 {
		end(fmt.Errorf("images of %v cannot be shown: 1 or 3 channels expected", shape))
	}
	if names == nil {
		var short [][]tile
		for _, row := range rows {
			for len(row) > perRow {
				short, row = append(short, row[:perRow]), row[perRow:]
			}
			if len(row) > 0 {
				short = append(short, row)
			}
		}
		rows = short
	}
	scale := max(1, (tileSize+shape.Width/2)/shape.Width)
	width, height := scale*shape.Width, scale*shape.Height
	left := margin
	if names != nil {
		left += nameWidth
		for _, name := range names {
			left = max(left, margin+2*gap+int(figure.Label(10, figure.Grey).Width(name)/pngPixel))
		}
	}
	columns := 1
	if title != "" {
		columns = 3 // room for its words
	}
	for _, row := range rows {
		columns = max(columns, len(row))
	}
	wide := left + columns*(width+gap) - gap + margin
	lines := len(broken(title, (wide-2*margin)/letter)) // of the title
	total := margin + lines*textLine + min(lines, 1)*gap
	tops := make([]int, len(rows))
	for r, row := range rows {
		below := 0
		for _, t := range row {
			below = max(below, len(t.words))
		}
		if slices.ContainsFunc(row, func(t tile) bool { return t.head != "" }) {
			total += textLine
		}
		tops[r] = total
		total += height + below*textLine + gap
	}
	f := &Figure{Caption: title, Width: vg.Length(wide) * pngPixel, Height: vg.Length(total) * pngPixel,
		pixels: true}
	f.paint = func(f *Figure, c draw.Canvas) {
		at := func(x, y int) vg.Point {
			return vg.Point{X: c.Min.X + vg.Length(x)*pngPixel, Y: c.Max.Y - vg.Length(y)*pngPixel}
		}
		ok, bad, side := figure.Label(9, color.Black), figure.Label(9, figure.Palette[1]), figure.Label(10, figure.Grey)
		side.XAlign, side.YAlign = draw.XLeft, draw.YCenter
		above := figure.Label(10, color.Black)
		above.XAlign = draw.XLeft
		heading := broken(cmp.Or(f.Title, title), (wide-2*margin)/letter)
		for i, line := range heading[:min(lines, len(heading))] {
			c.FillText(above, at(margin, margin+i*textLine), line)
		}
		for r, row := range rows {
			if names != nil {
				c.FillText(side, at(margin, tops[r]+height/2), names[r])
			}
			for i, t := range row {
				x := left + i*(width+gap)
				low, high := at(x, tops[r]+height), at(x+width, tops[r])
				c.DrawImage(vg.Rectangle{Min: low, Max: high}, enlarged(shape, t.image, scale))
				style := ok
				if t.wrong {
					style = bad
				}
				c.FillText(ok, at(x+width/2, tops[r]-textLine-3), t.head)
				for j, words := range t.words {
					c.FillText(style, at(x+width/2, tops[r]+height+4+j*textLine), words)
				}
			}
		}
	}
	return f
}

// enlarged is the image with each pixel as a square of scale × scale.
func enlarged(shape pixel.Shape, values []uint8, scale int) image.Image {
	out := image.NewNRGBA(image.Rect(0, 0, shape.Width*scale, shape.Height*scale))
	for y := range shape.Height * scale {
		for x := range shape.Width * scale {
			v := values[(y/scale*shape.Width+x/scale)*shape.Channels:]
			c := color.NRGBA{v[0], v[0], v[0], 255}
			if shape.Channels == 3 {
				c.G, c.B = v[1], v[2]
			}
			out.SetNRGBA(x, y, c)
		}
	}
	return out
}
