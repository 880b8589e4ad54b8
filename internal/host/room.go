package host

import "fmt"

// Room refuses a need of memory that this process cannot have, where that is known: Go would end without a word for
// the user.
func Room(bytes int64) error {
	const small = 64 << 20 // which is always tried
	if bytes <= small {
		return nil // without asking, as each image of a set does
	}
	if free := Memory(); free > 0 && bytes > free {
		return fmt.Errorf("%d MB do not fit into the %d MB of memory that are free; take fewer or smaller images",
			bytes>>20, free>>20)
	}
	return nil
}
