package cli

import (
	"path/filepath"
	"strings"

	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"github.com/certspec/certspec/internal/figure"
)

// IsDrawing reports whether the ending of a path is one of pictures.
func IsDrawing(path string) bool {
	switch strings.ToLower(filepath.Ext(path)) {
	case ".svg", ".pdf", ".png":
		return true
	}
	return false
}

// Drawing is a picture in the form that the ending of a path decides, .svg, .png or .pdf, with a
// caption for those who do not see it. The flag named the path.
func Drawing(flag, path, caption string, width, height vg.Length, paint func(draw.Canvas)) ([]byte, error) {
	switch strings.ToLower(filepath.Ext(path)) {
	case ".svg":
		return figure.SVG(width, height, caption, paint)
	case ".pdf":
		return figure.PDF(width, height, caption, paint)
	case ".png":
		return figure.PNG(width, height, paint)
	}
	return nil, Usagef("--%s %s: expected a name that ends in .svg, .png or .pdf", flag, path)
}
