package pipe_test

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"os"
	"strings"
	"testing"
	"time"
)

// The tests start their own binary as the program behind the pipe; this variable says how it shall behave.
const variable = "CERTSPEC_TEST_CHILD"

func TestMain(m *testing.M) {
	if mode := os.Getenv(variable); mode != "" {
		serve(mode)
		os.Exit(0)
	}
	os.Exit(m.Run())
}

const testClasses = 3

// logits of the program: linear in the sum of an image's values, in which order whatever, and in its first value.
func testLogits(sum, first float64) [testClasses]float32 {
	return [testClasses]float32{0, float32(sum - 4), float32(2*sum - 14 + first)}
}

// serve speaks the protocol as PROTOCOL.md has it, with the standard library alone. The mode is the dtype,
// layout and output of a good program, or what a bad one does.
func serve(mode string) {
	hello := map[string]any{"name": "child", "height": 2, "width": 3, "channels": 2, "layout": "hwc",
		"dtype": "float32", "classes": testClasses, "output": "logits", "weights": "sha256:child"}
	words := strings.Split(mode, ",")
	bad, shape := "", []int{2, 3, 2}
	for _, word := range words {
		switch word {
		case "int16", "float32":
			hello["dtype"] = word
		case "hwc", "chw":
			hello["layout"] = word
		case "classes", "logits", "probabilities":
			hello["output"] = word
		case "cifar":
			shape = []int{32, 32, 3}
			hello["height"], hello["width"], hello["channels"] = 32, 32, 3
		case "pixel":
			shape = []int{1, 1, 1}
			hello["height"], hello["width"], hello["channels"] = 1, 1, 1
		case "normalizing":
			hello["preprocessing"] = "(x - mean [0.5]) / std [0.25]"
		case "anonymous":
			delete(hello, "weights")
		default:
			bad = word
		}
	}
	switch bad {
	case "garbage":
		fmt.Println("Loading the model ...")
		time.Sleep(time.Minute)
	case "silent":
		fmt.Fprintln(os.Stderr, "thinking")
		time.Sleep(time.Minute)
	case "stillborn":
		fmt.Fprintln(os.Stderr, "ModuleNotFoundError: No module named 'torch'")
		os.Exit(3)
	case "halfborn":
		os.Stdout.WriteString("certspec\x01\x00\x00\x00\xff\x00\x00\x00{")
		os.Exit(0)
	case "old":
		os.Stdout.WriteString("certspec\x02\x00\x00\x00\x02\x00\x00\x00{}")
		time.Sleep(time.Minute)
	case "nolayout":
		hello["layout"] = "nhwc"
	case "unknownfield":
		hello["scale"] = 255
	case "nothing":
		hello["classes"] = 0
	case "lines":
		hello["preprocessing"] = "x / 2\n\x1b[31m"
	case "moody": // another identity each time
		hello["weights"] = fmt.Sprint(os.Getpid())
	}
	text, _ := json.Marshal(hello)
	os.Stdout.WriteString("certspec")
	binary.Write(os.Stdout, binary.LittleEndian, []uint32{1, uint32(len(text))})
	os.Stdout.Write(text)

	size, values := 4, shape[0]*shape[1]*shape[2]
	if hello["dtype"] == "int16" {
		size = 2
	}
	for answered := 0; ; answered++ {
		var head [16]byte
		if _, err := io.ReadFull(os.Stdin, head[:]); err != nil {
			if bad == "stubborn" {
				time.Sleep(time.Minute)
			}
			return
		}
		id, n, length := binary.LittleEndian.Uint64(head[:]), int(binary.LittleEndian.Uint32(head[8:])), int(binary.LittleEndian.Uint32(head[12:]))
		content := make([]byte, length)
		io.ReadFull(os.Stdin, content)
		if length != n*values*size {
			fmt.Fprintf(os.Stderr, "request of %d bytes for %d images\n", length, n)
			os.Exit(4)
		}
		if bad == "free" { // costs nothing
			answer := make([]byte, 16+4*n)
			binary.LittleEndian.PutUint64(answer, id)
			binary.LittleEndian.PutUint32(answer[8:], uint32(n))
			binary.LittleEndian.PutUint32(answer[12:], uint32(4*n))
			os.Stdout.Write(answer)
			continue
		}
		value := func(i int) float64 {
			if size == 2 {
				return float64(int16(binary.LittleEndian.Uint16(content[2*i:]))) / 255
			}
			return float64(math.Float32frombits(binary.LittleEndian.Uint32(content[4*i:])))
		}
		var logits [][testClasses]float32
		for i := range n {
			sum := 0.0
			for v := range values {
				sum += value(i*values + v)
			}
			// The value at row 0, column 1, channel 0.
			at := shape[2] % values
			if hello["layout"] == "chw" {
				at = 1 % values
			}
			row := testLogits(sum, value(i*values+at))
			if math.IsNaN(sum) || math.IsInf(sum, 0) {
				row = [testClasses]float32{}
			}
			logits = append(logits, row)
		}
		switch bad {
		case "dies":
			fmt.Fprintln(os.Stderr, "out of memory")
			os.Exit(137)
		case "dieslater":
			if answered == 2 {
				self, _ := os.FindProcess(os.Getpid())
				self.Kill()
			}
		case "hangs":
			time.Sleep(time.Minute)
		case "few":
			logits = logits[:n-1]
		case "lies": // about the number of bytes
			logits = logits[:n-1]
		case "id":
			id += 7
		case "prints":
			os.Stdout.WriteString("processing a batch of images\n")
		case "nan":
			logits[1][2] = float32(math.NaN())
			logits[2][0] = float32(math.Inf(1))
		}
		var answer []byte
		for i, row := range logits {
			switch hello["output"] {
			case "classes":
				class := 0
				for c, v := range row {
					if v > row[class] {
						class = c
					}
				}
				switch {
				case bad == "classrange" && i == 1:
					class = testClasses
				case bad == "miss" && i == 1:
					class = -1
				}
				answer = binary.LittleEndian.AppendUint32(answer, uint32(int32(class)))
			case "probabilities":
				sum := 0.0
				for _, v := range row {
					sum += math.Exp(float64(v - row[0]))
				}
				for _, v := range row {
					answer = binary.LittleEndian.AppendUint32(answer, math.Float32bits(float32(math.Exp(float64(v-row[0]))/sum)))
				}
			default:
				for _, v := range row {
					answer = binary.LittleEndian.AppendUint32(answer, math.Float32bits(v))
				}
			}
		}
		count := len(logits)
		if bad == "lies" {
			count = n
		}
		head = [16]byte{}
		binary.LittleEndian.PutUint64(head[:], id)
		binary.LittleEndian.PutUint32(head[8:], uint32(count))
		binary.LittleEndian.PutUint32(head[12:], uint32(len(answer)))
		os.Stdout.Write(append(head[:], answer...))
	}
}
