package torch

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"strings"
)

// A pickle is a program for a stack machine (Python's Lib/pickletools.py describes it). This reader
// has its data alone: what a pickle would call, it notes as an object and never calls.
// Values are nil, bool, int64, long, float64, string, []any (tuple), *list, *dict, global, *object and persistent.
type (
	list struct{ items []any }
	dict struct {
		keys   []string
		values map[string]any
		others []any  // under keys that are no strings
		twice  string // a key that came again
	}
	global struct{ module, name string }
	object struct { // what a call would give
		class any
		args  []any
	}
	persistent struct{ id any }
	long       []byte // an integer of more than 64 bits, little-endian
	mark       struct{}
)

func newDict() *dict { return &dict{values: map[string]any{}} }

func (d *dict) set(key, value any) {
	name, ok := key.(string)
	if !ok {
		d.others = append(d.others, value)
		return
	}
	if _, twice := d.values[name]; twice {
		d.twice = name
	} else {
		d.keys = append(d.keys, name)
	}
	d.values[name] = value
}

// unpickler reads one pickle.
type unpickler struct {
	r     *bufio.Reader
	stack []any
	memo  map[uint32]any
}

// unpickle reads a pickle, and leaves r behind its end.
func unpickle(r *bufio.Reader) (value any, err error) {
	u := &unpickler{r: r, memo: map[uint32]any{}}
	for err == nil {
		var op byte
		if op, err = r.ReadByte(); err != nil {
			break
		}
		if op == '.' {
			return u.pop()
		}
		if err = u.step(op); err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
			return nil, fmt.Errorf("damaged pickle: %w", err)
		}
	}
	return nil, errors.New("truncated pickle")
}

func (u *unpickler) push(v any) { u.stack = append(u.stack, v) }

func (u *unpickler) pop() (any, error) {
	if len(u.stack) == 0 {
		return nil, errors.New("its stack is empty")
	}
	v := u.stack[len(u.stack)-1]
	if v == (any)(mark{}) {
		return nil, errors.New("a mark stands in place of a value")
	}
	u.stack = u.stack[:len(u.stack)-1]
	return v, nil
}

// popN gives the n values on top, the lowest first.
func (u *unpickler) popN(n int) ([]any, error) {
	values := make([]any, n)
	for i := n - 1; i >= 0; i-- {
		var err error
		if values[i], err = u.pop(); err != nil {
			return nil, err
		}
	}
	return values, nil
}

// popMark gives the values above the last mark, and takes it away.
func (u *unpickler) popMark() ([]any, error) {
	for i := len(u.stack) - 1; i >= 0; i-- {
		if u.stack[i] == (any)(mark{}) {
			values := append([]any{}, u.stack[i+1:]...)
			u.stack = u.stack[:i]
			return values, nil
		}
	}
	return nil, errors.New("its stack has no mark")
}

// maxText bounds one string.
const maxText = 1 << 24

func (u *unpickler) number(size int) (uint64, error) {
	var b [8]byte
	_, err := io.ReadFull(u.r, b[:size])
	return binary.LittleEndian.Uint64(b[:]), err
}

// text reads a length of some bytes and as many bytes.
func (u *unpickler) text(size int) (string, error) {
	n, err := u.number(size)
	if err != nil {
		return "", err
	}
	if n > maxText {
		return "", fmt.Errorf("a string of %d bytes", n)
	}
	var b bytes.Buffer
	if _, err := io.CopyN(&b, u.r, int64(n)); err != nil {
		return "", io.ErrUnexpectedEOF
	}
	return b.String(), nil
}

func (u *unpickler) line() (string, error) {
	s, err := u.r.ReadString('\n')
	return strings.TrimSuffix(s, "\n"), err
}

// lengths are the bytes that give the length of a string.
var lengths = map[byte]int{'X': 4, 'U': 1, 'T': 4, 'C': 1, 'B': 4, 0x8c: 1, 0x8d: 8, 0x8e: 8}

// step does one operation; names are those of pickletools.
func (u *unpickler) step(op byte) error {
	if size, ok := lengths[op]; ok { // BINUNICODE, SHORT_BINSTRING, BINSTRING, …
		s, err := u.text(size)
		u.push(s)
		return err
	}
	switch op {
	case 0x80: // PROTO
		version, err := u.number(1)
		if err == nil && version > 5 {
			err = fmt.Errorf("protocol %d; expected 2 to 5", version)
		}
		return err
	case 0x95: // FRAME
		_, err := u.number(8)
		return err
	case '(':
		u.push(mark{})
	case 'N':
		u.push(nil)
	case 0x88, 0x89: // NEWTRUE, NEWFALSE
		u.push(op == 0x88)
	case '}':
		u.push(newDict())
	case ']', 0x8f: // EMPTY_LIST, EMPTY_SET
		u.push(&list{})
	case ')':
		u.push([]any{})
	case 'K', 'M', 'J': // BININT1, BININT2, BININT
		v, err := u.number(map[byte]int{'K': 1, 'M': 2, 'J': 4}[op])
		if op == 'J' {
			v = uint64(int64(int32(v)))
		}
		u.push(int64(v))
		return err
	case 'G': // BINFLOAT, big-endian
		var b [8]byte
		_, err := io.ReadFull(u.r, b[:])
		u.push(math.Float64frombits(binary.BigEndian.Uint64(b[:])))
		return err
	case 0x8a: // LONG1
		s, err := u.text(1)
		u.push(integer(s))
		return err
	case 'q', 'r', 'h', 'j', 0x94: // BINPUT, LONG_BINPUT, BINGET, LONG_BINGET, MEMOIZE
		return u.remember(op)
	case 'c', 0x93: // GLOBAL, STACK_GLOBAL
		return u.global(op)
	case 'Q': // BINPERSID
		id, err := u.pop()
		u.push(persistent{id})
		return err
	case 'R', 0x81: // REDUCE, NEWOBJ
		v, err := u.popN(2)
		if err != nil {
			return err
		}
		args, _ := v[1].([]any)
		if v[0] == (any)(global{"collections", "OrderedDict"}) && len(args) == 0 {
			u.push(newDict())
		} else {
			u.push(&object{v[0], args})
		}
	case 'b', '0': // BUILD, whose state is of no use here; POP
		_, err := u.pop()
		return err
	case '1': // POP_MARK
		_, err := u.popMark()
		return err
	default:
		return u.collect(op)
	}
	return nil
}

// integer reads a two's complement number.
func integer(s string) any {
	if len(s) > 8 {
		return long(s)
	}
	var b [8]byte
	if len(s) > 0 && s[len(s)-1] >= 0x80 {
		b = [8]byte{255, 255, 255, 255, 255, 255, 255, 255}
	}
	copy(b[:], s)
	return int64(binary.LittleEndian.Uint64(b[:]))
}

func (u *unpickler) remember(op byte) error {
	key := uint64(len(u.memo))
	var err error
	if op != 0x94 {
		key, err = u.number(map[byte]int{'q': 1, 'r': 4, 'h': 1, 'j': 4}[op])
	}
	if err != nil {
		return err
	}
	if op == 'h' || op == 'j' {
		v, known := u.memo[uint32(key)]
		if !known {
			return fmt.Errorf("it refers to value %d, which is not there", key)
		}
		u.push(v)
		return nil
	}
	v, err := u.pop()
	if err != nil {
		return err
	}
	u.memo[uint32(key)] = v
	u.push(v)
	return nil
}

func (u *unpickler) global(op byte) error {
	var g global
	var err error
	if op == 'c' {
		if g.module, err = u.line(); err == nil {
			g.name, err = u.line()
		}
	} else {
		var v []any
		if v, err = u.popN(2); err == nil {
			g.module, _ = v[0].(string)
			g.name, _ = v[1].(string)
		}
	}
	u.push(g)
	return err
}

// collect does the operations that make tuples and fill lists and dictionaries.
func (u *unpickler) collect(op byte) (err error) {
	var v []any
	switch op {
	case 't', 'u', 'e', 0x90: // TUPLE, SETITEMS, APPENDS, ADDITEMS
		v, err = u.popMark()
	case 0x85, 0x86, 0x87: // TUPLE1, TUPLE2, TUPLE3
		v, err = u.popN(int(op - 0x84))
	case 'a': // APPEND
		v, err = u.popN(1)
	case 's': // SETITEM
		v, err = u.popN(2)
	default:
		return fmt.Errorf("operation %#x is none that PyTorch writes", op)
	}
	if err != nil {
		return err
	}
	if op == 't' || op >= 0x85 && op <= 0x87 {
		u.push(v)
		return nil
	}
	if len(u.stack) == 0 {
		return errors.New("its stack is empty")
	}
	switch to := u.stack[len(u.stack)-1].(type) {
	case *dict:
		if len(v)%2 != 0 {
			return errors.New("a key has no value")
		}
		for i := 0; i < len(v); i += 2 {
			to.set(v[i], v[i+1])
		}
	case *list:
		to.items = append(to.items, v...)
	case *object: // of a class of dictionaries or lists
	default:
		return fmt.Errorf("operation %#x on a %T", op, to)
	}
	return nil
}
