package picture

import "sync"

// room is for the pixels that are decoded at one time: one large picture, or many small ones.
var room = &space{free: maxPixels}

type space struct {
	mu   sync.Mutex
	more sync.Cond
	free int64
}

// take waits for room for some pixels, at most maxPixels; the function gives it back.
func (s *space) take(pixels int64) (giveBack func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.more.L = &s.mu
	for s.free < pixels {
		s.more.Wait()
	}
	s.free -= pixels
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.free += pixels
		s.more.Broadcast()
	}
}
