//go:build !linux

package host

// Memory is how many bytes this process may still take; 0: not known.
func Memory() int64 { return 0 }
