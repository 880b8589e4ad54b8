// Package pixel holds the one image layout of certspec.
//
// An image is height × width × channel (HWC), row-major: the value of channel c
// at row i, column j stands at (i*Width+j)*Channels + c. A stored image is uint8.
// A grid image is int16 in the same layout, in multiples of 1/255 and not clipped:
// the real value is grid/255. A real image is float32 in the same layout with
// byte/255 as its unit, so that the full range of a stored image is [0, 1].
package pixel

import "fmt"

// Steps is the number of grid steps in the unit range: a byte b is the value b/Steps.
const Steps = 255

// Shape is the size of an image in pixels.
type Shape struct {
	Height   int `json:"height"`
	Width    int `json:"width"`
	Channels int `json:"channels"`
}

// Len is the number of values in one image.
func (s Shape) Len() int { return s.Height * s.Width * s.Channels }

// Valid reports whether all three sides are positive.
func (s Shape) Valid() bool { return s.Height > 0 && s.Width > 0 && s.Channels > 0 }

func (s Shape) String() string {
	return fmt.Sprintf("%d×%d×%d", s.Height, s.Width, s.Channels)
}
