package nb

import (
	"bytes"
	"cmp"
	"encoding/base64"
	"fmt"
	"html"
	"image/png"
	"slices"
	"strings"

	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"github.com/certspec/certspec/internal/figure"
	"github.com/certspec/certspec/pixel"
	"github.com/certspec/certspec/spectral"
)

// Row is images side by side, of bytes, HWC, with words above and below each.
type Row struct {
	Name   string
	Images [][]uint8
	Heads  []string // above the images; may be fewer
	Words  []string // below the images, a new line after each \n; may be fewer
}

// Images shows rows of images of one shape, with the caption above them.
func Images(caption string, shape pixel.Shape, rows ...Row) *Figure {
	var tiles [][]tile
	var names []string
	for r, row := range rows {
		line := make([]tile, len(row.Images))
		for i, image := range row.Images {
			if len(image) != shape.Len() {
				end(fmt.Errorf("nb.Images: image %d of row %d has %d bytes; expected %d for %v", i+1, r+1, len(image),
					shape.Len(), shape))
				return nil
			}
			line[i].image = image
			if i < len(row.Heads) {
				line[i].head = row.Heads[i]
			}
			if i < len(row.Words) {
				line[i].words = strings.Split(strings.ReplaceAll(row.Words[i], "= -", "= −"), "\n")
			}
		}
		tiles, names = append(tiles, line), append(names, row.Name)
	}
	if strings.Join(names, "") == "" {
		names = nil
	}
	return mosaic(caption, shape, tiles, names)
}

// Browse is a widget that shows one of many images of a shape, chosen by sliders. static tells the same without them.
func Browse(caption string, shape pixel.Shape, sliders []Slider, image func(at []int) []uint8, static ...any) *Widget {
	return &Widget{Caption: caption, Sliders: sliders, Static: static, Frame: func(at []int) []string {
		scale := max(1, tileSize/shape.Width)
		var b bytes.Buffer
		end((&png.Encoder{CompressionLevel: png.BestCompression}).Encode(&b, enlarged(shape, image(at), scale)))
		const picture = `<img alt="%s" width="%d" src="data:image/png;base64,%s">`
		return []string{"<div>" + html.EscapeString(caption) + "</div>", fmt.Sprintf(picture,
			html.EscapeString(caption), scale*shape.Width, base64.StdEncoding.EncodeToString(b.Bytes()))}
	}}
}

// HeatMaps draws maps over frequencies side by side, with their titles, in colours from low (black) to high (white);
// from −π to π they are angles, in colours that end where they begin. What stands before the first semicolon of the
// caption is the title above several. More than four are drawn smaller. The page holds pixels, since a drawing of all
// cells would be many times larger.
func HeatMaps(caption string, low, high float64, titles []string, maps ...*spectral.Map) *Figure {
	if len(titles) != len(maps) || len(maps) == 0 {
		end(fmt.Errorf("nb.HeatMaps: %d titles for %d maps", len(titles), len(maps)))
		return nil
	}
	of := figure.HeatMaps{Columns: 4, Low: low, High: high}
	if len(maps) > of.Columns {
		of.Side = 1.75 * vg.Inch
	}
	for i, m := range maps {
		of.Maps = append(of.Maps, figure.HeatMap{Title: titles[i], X: "v", Y: "u", Columns: m.V, Rows: m.U,
			Values: m.Values})
	}
	f := heatMaps(caption, of)
	f.pixels = true
	return f
}

func heatMaps(caption string, of figure.HeatMaps) *Figure {
	if len(of.Maps) > 1 {
		of.Title, _, _ = strings.Cut(caption, ";")
	}
	width, height := of.Size()
	return &Figure{Caption: caption, Width: width, Height: height, paint: func(f *Figure, c draw.Canvas) {
		again := of
		again.Title = cmp.Or(f.Title, of.Title)
		again.Maps = slices.Clone(of.Maps)
		for i := range again.Maps {
			m := &again.Maps[i]
			m.X, m.Y = cmp.Or(f.X, m.X), cmp.Or(f.Y, m.Y)
			if len(of.Maps) == 1 {
				m.Title = cmp.Or(f.Title, m.Title)
			}
		}
		again.Paint(c)
	}, numbers: func() *Tabular {
		t := Columns("map", of.Maps[0].Y, of.Maps[0].X, "value")
		for _, m := range of.Maps {
			for i, v := range m.Values {
				t.Add(m.Title, m.Rows[i/len(m.Columns)], m.Columns[i%len(m.Columns)], v)
			}
		}
		return t
	}}
}
