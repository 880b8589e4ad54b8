package testkit

import "slices"

// Edit is base with the cut bytes from at on replaced by put, for fuzz targets: the fuzzer shrinks whatever finds
// something new, and the time for that grows with the square of its length. A place behind the end counts from the
// begin again.
func Edit(base []byte, at uint16, cut uint8, put []byte) []byte {
	from := int(at) % (len(base) + 1)
	to := min(len(base), from+int(cut))
	return slices.Concat(base[:from], put, base[to:])
}
