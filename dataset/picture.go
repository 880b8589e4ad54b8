package dataset

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"image"
	"image/draw"
	_ "image/jpeg" // registers the JPEG decoder
	_ "image/png"  // registers the PNG decoder
	"runtime"
	"sync"

	"github.com/certspec/certspec/pixel"
)

// maxSide bounds the size of a picture, which a small damaged file may claim to be huge.
const maxSide = 1 << 14

// decodePictures decodes pictures that all have one size. The set has one channel
// if every picture is grey, else three; grey pictures in a colour set get equal channels.
func decodePictures(ctx context.Context, pictures []picture) (*records, error) {
	if len(pictures) == 0 {
		return nil, errors.New("no .png, .jpg or .jpeg files")
	}
	classes, labels, err := label(pictures)
	if err != nil {
		return nil, err
	}
	config, _, err := image.DecodeConfig(bytes.NewReader(pictures[0].data))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", pictures[0].path, err)
	}
	height, width := config.Height, config.Width
	if height < 1 || width < 1 || height > maxSide || width > maxSide {
		return nil, fmt.Errorf("%s: %d×%d pixels; expected sides of 1 to %d", pictures[0].path, height, width, maxSide)
	}
	if int64(height)*int64(width) > maxBytes/3/int64(len(pictures)) {
		return nil, fmt.Errorf("%d pictures of %d×%d pixels do not fit into %d bytes", len(pictures), height, width, int64(maxBytes))
	}
	r := &records{
		shape:   pixel.Shape{Height: height, Width: width, Channels: 3},
		classes: classes,
		labels:  labels,
	}
	decoded := make([][]uint8, len(pictures))
	isGrey := make([]bool, len(pictures))
	failed := make([]error, len(pictures))
	var workers sync.WaitGroup
	count := min(runtime.GOMAXPROCS(0), len(pictures))
	for w := range count {
		workers.Go(func() {
			for i := w; i < len(pictures) && ctx.Err() == nil; i += count {
				decoded[i], isGrey[i], failed[i] = decodePicture(pictures[i].data, height, width)
				if failed[i] != nil {
					return
				}
			}
		})
	}
	workers.Wait()
	for i, err := range failed {
		if err != nil {
			return nil, fmt.Errorf("%s: %w", pictures[i].path, err)
		}
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	allGrey := true
	for _, grey := range isGrey {
		allGrey = allGrey && grey
	}
	if allGrey {
		r.shape.Channels = 1
	}
	r.pixels = make([]uint8, 0, len(pictures)*r.shape.Len())
	for i, values := range decoded {
		if isGrey[i] && !allGrey {
			for _, v := range values {
				r.pixels = append(r.pixels, v, v, v)
			}
			continue
		}
		r.pixels = append(r.pixels, values...)
	}
	return r, nil
}

// decodePicture gives HWC bytes of one channel (grey) or three.
// It refuses what 8-bit RGB cannot hold: 16 bits per channel, transparency, CMYK.
func decodePicture(data []byte, height, width int) (values []uint8, grey bool, err error) {
	config, _, err := image.DecodeConfig(bytes.NewReader(data))
	if err != nil {
		return nil, false, err
	}
	if config.Height != height || config.Width != width {
		return nil, false, fmt.Errorf("%d×%d pixels; expected %d×%d as in the first picture", config.Height, config.Width, height, width)
	}
	picture, _, err := image.Decode(bytes.NewReader(data))
	if err != nil {
		return nil, false, err
	}
	bounds := picture.Bounds()
	switch picture := picture.(type) {
	case *image.Gray:
		values = make([]uint8, 0, height*width)
		for y := bounds.Min.Y; y < bounds.Max.Y; y++ {
			start := picture.PixOffset(bounds.Min.X, y)
			values = append(values, picture.Pix[start:start+width]...)
		}
		return values, true, nil
	case *image.YCbCr, *image.RGBA, *image.NRGBA, *image.Paletted:
	default:
		return nil, false, fmt.Errorf("pixel format %T; expected 8-bit grey or RGB", picture)
	}
	if !picture.(interface{ Opaque() bool }).Opaque() {
		return nil, false, errors.New("the picture is transparent somewhere; expected opaque pictures")
	}
	rgba := image.NewRGBA(image.Rect(0, 0, width, height))
	draw.Draw(rgba, rgba.Bounds(), picture, bounds.Min, draw.Src)
	values = make([]uint8, 0, 3*height*width)
	for p := rgba.Pix; len(p) > 0; p = p[4:] {
		values = append(values, p[0], p[1], p[2])
	}
	return values, false, nil
}
