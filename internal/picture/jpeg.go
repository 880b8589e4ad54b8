package picture

import (
	"bytes"
	"fmt"
	"image"
	gojpeg "image/jpeg"
	"regexp"
	"runtime"
	"strings"

	"github.com/certspec/certspec/internal/jpeg"
	"github.com/certspec/certspec/pixel"
)

// LibJPEG is the decoder of JPEG pictures that gives the bytes of libjpeg-turbo, which are Pillow's.
const LibJPEG = "libjpeg-turbo"

// GoJPEG is the decoder of the Go release that built this program, as in "go1.26". It repeats chroma where libjpeg
// interpolates.
func GoJPEG() string {
	parts := strings.SplitN(runtime.Version(), ".", 3)
	return strings.Join(parts[:min(2, len(parts))], ".")
}

// IsJPEGDecoder reports whether a name is that of a decoder; this program need not have it.
func IsJPEGDecoder(name string) bool { return name == LibJPEG || goRelease.MatchString(name) }

var goRelease = regexp.MustCompile(`^go1\.[0-9]{1,3}$`)

// IsJPEG reports whether a file begins as JPEG pictures do.
func IsJPEG(file []byte) bool { return bytes.HasPrefix(file, []byte("\xff\xd8")) }

// decodeJPEG is the picture as it is stored.
func decodeJPEG(file []byte, o Options) (Image, error) {
	f, err := jpeg.ReadFrame(file)
	if err != nil {
		return Image{}, err
	}
	giveBack, err := admit(file, f.Height, f.Width)
	if err != nil {
		return Image{}, err
	}
	defer giveBack()
	if o.JPEG != "" && o.JPEG != LibJPEG {
		if o.JPEG != GoJPEG() {
			return Image{}, fmt.Errorf("its pixels are wanted as Go %s decodes them, and this program was built by "+
				"%s; build it with Go %[1]s, or take jpeg=%[3]s, whose pixels are others",
				strings.TrimPrefix(o.JPEG, "go"), runtime.Version(), LibJPEG)
		}
		m, err := gojpeg.Decode(bytes.NewReader(file))
		if err != nil {
			return Image{}, err
		}
		_, grey := m.(*image.Gray)
		return flatten(m, grey, o)
	}
	pixels, f, err := jpeg.Decode(file)
	if err != nil {
		return Image{}, err
	}
	return Image{pixels, pixel.Shape{Height: f.Height, Width: f.Width, Channels: f.Channels}}, nil
}
