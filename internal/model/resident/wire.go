// Package resident lets the cells of a notebook share one process that holds networks, so that a cell links no engine
// and finds weights loaded that an earlier one used. The process is "certspec serve"; a cell that needs it starts it,
// and it ends with the kernel.
//
// Both sides speak over a Unix socket in the kernel's own folder. A connection carries one question at a time; closing
// it drops the question. A message is a length of JSON and a length of values, uint32 little-endian, then both.
package resident

import (
	"bufio"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"os"
	"slices"
	"strings"
	"unsafe"

	"github.com/certspec/certspec/classifier"
	"github.com/certspec/certspec/feedforward"
	"github.com/certspec/certspec/gomlxmodels/modelfile"
	"github.com/certspec/certspec/progress"
	"github.com/certspec/certspec/rs/ledger"
)

// mostJSON and mostValues are the largest lengths of a message, so that noise on the socket is no allocation.
const (
	mostJSON   = 64 << 20
	mostValues = 1<<32 - 1
)

// hello begins a connection, and starts the process: a process with another
// environment, or in another folder, might open another network.
type hello struct {
	Folder      string
	Environment []string
}

// ours is the hello of this process. Variables of the kernel that differ from cell to cell are left out.
func ours() (h hello, err error) {
	h.Folder, err = os.Getwd()
	h.Environment = slices.DeleteFunc(os.Environ(), func(v string) bool {
		name, _, _ := strings.Cut(v, "=")
		return strings.HasPrefix(name, "GONB_") || slices.Contains([]string{"_", "SHLVL", "PWD", "OLDPWD"}, name)
	})
	slices.Sort(h.Environment)
	return h, err
}

// Kinds of questions.
const (
	Open           = "open"            // a network, until the connection closes
	Gradients      = "gradients"       // of a network, until the connection closes
	Train          = "train"           // a network; values are the options of the recipe's method, by gob
	Describe       = "info"            // answered by an Info
	Former         = "former"          // identities
	Preprocessing  = "preprocessing"   // in words
	ClassNames     = "class names"     // or null
	Classify       = "classify"        // images; answered by classes, scores and logits as they are wanted
	VectorJacobian = "vector-jacobian" // N images, and vectors of as many logits; answered by gradients
	Layers         = "layers"          // answered by a File and its bytes
	Confidences    = "confidences"     // of a network under attacks; answered by []ace.Predictions
	Step           = "step"            // of a training; answered by a recipe.Step
)

// Info is a classifier.Info with what that leaves out in JSON.
type Info struct {
	classifier.Info
	Logits bool
}

// File says how to read an ONNX file as layers.
type File struct {
	Name     string
	Images   *feedforward.Images
	Compared string
}

// Question is a request of a cell. Values stand behind it.
type Question struct {
	Kind  string
	Model int // what Open or Gradients has answered

	Path string // of Open, Gradients, Train and Confidences
	// of Open and Gradients: values of model.Input, at most one; of Train: a model.Recipe; of Confidences: []ace.Attack;
	// of Step: a recipe.Tier and a recipe.Model
	Input json.RawMessage

	Sets    [2]Set // of Train: images to train on, and to test with; of Confidences: images
	Command string // that the card names

	N              int  // images of Classify and VectorJacobian
	Grid           bool // they are int16, else float32
	Scores, Logits bool // are wanted
}

// Set names a data set, and says what its images are.
type Set struct{ Name, Digest string }

// Opened is the process's answer to Open and Gradients.
type Opened struct {
	ID      int
	Files   string // what the files of the network are; another text is another network
	Card    *modelfile.Card
	Trained []ledger.Data
	How     string // gradients are computed
}

// answer is a message of the process: of its state, or the last of a question.
type answer struct {
	State *progress.State `json:",omitempty"`
	Error *failure        `json:",omitempty"`
	Value json.RawMessage `json:",omitempty"`
}

// failure is an error on its way: its words, and what errors.Is finds in it.
type failure struct {
	Text string
	Is   []string `json:",omitempty"`
}

// known are the errors that a caller tells apart.
var known = map[string]error{
	"not exist": fs.ErrNotExist, "canceled": context.Canceled, "deadline": context.DeadlineExceeded,
}

func (f *failure) Error() string { return f.Text }

// Unwrap implements errors.Is.
func (f *failure) Unwrap() (all []error) {
	for _, name := range f.Is {
		if err := known[name]; err != nil {
			all = append(all, err)
		}
	}
	return all
}

func failureOf(err error) *failure {
	f := &failure{Text: err.Error()}
	for name, one := range known {
		if errors.Is(err, one) {
			f.Is = append(f.Is, name)
		}
	}
	return f
}

// send writes a message.
func send(c net.Conn, head any, values ...[]byte) error {
	text, err := json.Marshal(head)
	if err != nil {
		return err
	}
	size := 0
	for _, v := range values {
		size += len(v)
	}
	if len(text) > mostJSON || size > mostValues {
		return fmt.Errorf("a message of %d and %d bytes; expected at most %d and %d", len(text), size, mostJSON, mostValues)
	}
	lengths := binary.LittleEndian.AppendUint32(nil, uint32(len(text)))
	lengths = binary.LittleEndian.AppendUint32(lengths, uint32(size))
	all := net.Buffers(append([][]byte{append(lengths, text...)}, values...))
	_, err = all.WriteTo(c)
	return err
}

// receive reads a message but for its values, of which it tells the length.
func receive(r *bufio.Reader, head any) (values int, err error) {
	var lengths [8]byte
	if _, err := io.ReadFull(r, lengths[:]); err != nil {
		return 0, err
	}
	size := binary.LittleEndian.Uint32(lengths[:])
	if size > mostJSON {
		return 0, fmt.Errorf("a message of %d bytes; expected at most %d", size, mostJSON)
	}
	text := make([]byte, size)
	if _, err := io.ReadFull(r, text); err != nil {
		return 0, err
	}
	return int(binary.LittleEndian.Uint32(lengths[4:])), json.Unmarshal(text, head)
}

// Bytes are numbers as they lie in memory: both sides are on one machine.
func Bytes[T int16 | int32 | float32](values []T) []byte {
	if len(values) == 0 {
		return nil
	}
	return unsafe.Slice((*byte)(unsafe.Pointer(&values[0])), len(values)*int(unsafe.Sizeof(values[0])))
}
