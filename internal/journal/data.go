package journal

import "strings"

// SameData is the name of images there where the name here differs from it in the decoder of JPEG
// pictures alone and the digests are equal, else the name here: names of earlier versions do not
// say the decoder.
func SameData(there, digestThere, here, digestHere string) string {
	if digestThere == digestHere && withoutDecoder(there) == withoutDecoder(here) {
		return there
	}
	return here
}

func withoutDecoder(name string) string {
	body, list, _ := strings.Cut(name, "[jpeg=")
	if _, rest, more := strings.Cut(list, ","); more {
		return body + "[" + rest
	}
	return body
}
