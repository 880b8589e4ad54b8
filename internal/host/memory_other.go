//go:build !linux

package host

// Memory is how many bytes this process may still take; 0: not known.
func Memory() int64 { return 0 }

// Peak is how many bytes this process had in memory at most; 0: not known.
func Peak() int64 { return 0 }
