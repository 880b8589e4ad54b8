package inflate_test

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/flate"
	"compress/gzip"
	"context"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"image"
	"image/color"
	"image/jpeg"
	"image/png"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/certspec/certspec/corrupt"
	"github.com/certspec/certspec/dataset"
	"github.com/certspec/certspec/internal/gomlxmodels/torch"
	"github.com/certspec/certspec/internal/npy"
	"github.com/certspec/certspec/internal/testkit"
	"github.com/certspec/certspec/pixel"
)

const (
	memory = 1 << 30
	bomb   = 6 << 30 // bytes that a file of about 6 MB becomes
)

// readers open a file as the program does.
var readers = map[string]func(path string) error{
	"weights": func(path string) error {
		_, err := torch.Read(path, "")
		return err
	},
	"set": func(name string) error {
		d, err := dataset.Open(name)
		if err != nil {
			return err
		}
		_, err = d.Load(context.Background())
		return err
	},
	"frost": func(folder string) error {
		shape := pixel.Shape{Height: 32, Width: 32, Channels: 3}
		_, err := corrupt.New(corrupt.Setting{Name: "frost", Severity: 1, Photographs: folder}, shape, corrupt.Key{})
		return err
	},
}

// TestMain lets the binary of the tests be a reader with little memory.
func TestMain(m *testing.M) {
	if len(os.Args) == 4 && os.Args[1] == "read" {
		const limitData = 2
		if err := syscall.Setrlimit(limitData, &syscall.Rlimit{Cur: memory, Max: memory}); err != nil {
			fmt.Println("no limit:", err)
			os.Exit(2)
		}
		fmt.Println("error:", readers[os.Args[2]](os.Args[3]))
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// zeros is a deflate stream of at least n zeros behind some bytes.
func zeros(before []byte, n int64) []byte {
	const block = 1 << 24
	var b bytes.Buffer
	w, _ := flate.NewWriter(&b, flate.BestCompression)
	w.Write(before)
	w.Write(make([]byte, block))
	w.Flush() // to a whole byte
	from := b.Len()
	w.Write(make([]byte, block))
	w.Flush()
	once := bytes.Clone(b.Bytes()[from:])
	for size := int64(2 * block); size < n; size += block {
		b.Write(once)
	}
	b.Write([]byte{3, 0}) // an empty last block
	return b.Bytes()
}

func gzipped(deflated []byte) []byte {
	return append(append([]byte{0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 3}, deflated...), make([]byte, 8)...)
}

// archive is a zip archive of a file of zeros behind some bytes.
func archive(t *testing.T, name string, before []byte, n int64) []byte {
	var b bytes.Buffer
	w := zip.NewWriter(&b)
	data := zeros(before, n)
	sum := uint32(1)
	if n < 1<<28 {
		sum = crc32.ChecksumIEEE(append(bytes.Clone(before), make([]byte, n-int64(len(before)))...))
	}
	f, err := w.CreateRaw(&zip.FileHeader{Name: name, Method: zip.Deflate, CRC32: sum, CompressedSize64: uint64(len(data)), UncompressedSize64: uint64(n)})
	if err != nil {
		t.Fatal(err)
	}
	f.Write(data)
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func arrayHeader(t *testing.T, descr string, shape ...int) []byte {
	var b bytes.Buffer
	if err := npy.WriteHeader(&b, descr, shape...); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// onlyHead is a PNG or JPEG file whose head promises other sides than it has.
func onlyHead(data []byte, sides func([]byte)) []byte {
	sides(data)
	if bytes.HasPrefix(data, []byte("\x89PNG")) {
		binary.BigEndian.PutUint32(data[29:], crc32.ChecksumIEEE(data[12:29]))
	}
	return data
}

func pngZeros(t *testing.T, height, width uint32) []byte {
	deflated := zeros(nil, int64(height)*(int64(width)*3+1))
	chunk := func(kind string, data []byte) []byte {
		b := binary.BigEndian.AppendUint32(nil, uint32(len(data)))
		b = append(append(b, kind...), data...)
		return binary.BigEndian.AppendUint32(b, crc32.ChecksumIEEE(b[4:]))
	}
	head := binary.BigEndian.AppendUint32(binary.BigEndian.AppendUint32(nil, width), height)
	file := append([]byte("\x89PNG\r\n\x1a\n"), chunk("IHDR", append(head, 8, 2, 0, 0, 0))...)
	file = append(file, chunk("IDAT", append([]byte{0x78, 0xda}, deflated...))...)
	return append(file, chunk("IEND", nil)...)
}

// tarHead is the header of an entry of a size.
func tarHead(t *testing.T, name string, size int64) []byte {
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	if err := w.WriteHeader(&tar.Header{Name: name, Mode: 0o644, Size: size, Typeflag: tar.TypeReg, Format: tar.FormatGNU}); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// sparse is a tar archive of one entry whose hole is nearly all of it, in the old GNU form.
func sparse(t *testing.T, name string, size int64) []byte {
	head := tarHead(t, name, 512)
	head[156] = 'S'
	octal := func(at int, n int64) { copy(head[at:at+12], fmt.Sprintf("%011o\x00", n)) }
	octal(386, size-512) // one piece of data, at the end
	octal(398, 512)
	octal(483, size)
	copy(head[148:156], "        ")
	sum := 0
	for _, b := range head[:512] {
		sum += int(b)
	}
	copy(head[148:156], fmt.Sprintf("%06o\x00 ", sum))
	return append(head[:512], make([]byte, 512*3)...)
}

// Every reader meets a small file that would become larger than memory.
func TestBombs(t *testing.T) {
	if testing.Short() {
		t.Skip("-short: makes and reads large files")
	}
	dir := t.TempDir()
	file := func(name string, data []byte) string {
		path := filepath.Join(dir, filepath.FromSlash(name))
		testkit.Write(t, data, path)
		return path
	}
	white := image.NewRGBA(image.Rect(0, 0, 16, 16))
	for i := range white.Pix {
		white.Pix[i] = 255
	}
	var small, photograph bytes.Buffer
	if err := png.Encode(&small, white); err != nil {
		t.Fatal(err)
	}
	if err := jpeg.Encode(&photograph, white, nil); err != nil {
		t.Fatal(err)
	}
	huge := image.NewPaletted(image.Rect(0, 0, 16000, 16000), color.Palette{color.White, color.Black})
	var palette bytes.Buffer
	if err := png.Encode(&palette, huge); err != nil {
		t.Fatal(err)
	}
	frame := bytes.Index(photograph.Bytes(), []byte{0xff, 0xc0}) // start of frame: marker, length, precision, height, width

	images := binary.BigEndian.AppendUint32(nil, 0x803)
	for _, side := range []uint32{bomb >> 20, 1 << 10, 1 << 10} {
		images = binary.BigEndian.AppendUint32(images, side)
	}
	labels := binary.BigEndian.AppendUint32(binary.BigEndian.AppendUint32(nil, 0x801), bomb>>20)
	labels = append(labels, make([]byte, bomb>>20)...)
	var packedLabels bytes.Buffer
	z := gzip.NewWriter(&packedLabels)
	z.Write(labels)
	z.Close()

	header := arrayHeader(t, "<f4", 1<<15, 1<<15)
	npzSize := int64(len(header)) + 4<<30
	hidden := int64(len(header)) + 2<<30
	hides := bytes.ReplaceAll(archive(t, "w.npy", arrayHeader(t, "<f4", 1<<14, 1<<15), hidden), binary.LittleEndian.AppendUint32(nil, uint32(hidden)), []byte{0, 1, 0, 0})
	for name, c := range map[string]struct{ reader, path string }{
		"npz":                             {"weights", file("a.npz", archive(t, "w.npy", header, npzSize))},
		"npz that hides its size":         {"weights", file("b.npz", hides)},
		"IDX, gzipped":                    {"set", "mnist/test"},
		"CIFAR, gzipped tar":              {"set", "cifar10/test"},
		"folder in a gzipped tar":         {"set", "folder:" + file("pictures.tar.gz", gzipped(zeros(tarHead(t, "a/1.png", 5<<30), bomb)))},
		"folder in a sparse tar":          {"set", "folder:" + file("sparse.tar", sparse(t, "a/1.png", 5<<30))},
		"PNG":                             {"set", "folder:" + filepath.Dir(file("png/1.png", pngZeros(t, 16000, 16000)))},
		"PNG with a palette":              {"set", "folder:" + filepath.Dir(file("palette/1.png", palette.Bytes()))},
		"PNG that is only a head":         {"set", "folder:" + filepath.Dir(file("head/1.png", onlyHead(small.Bytes(), func(b []byte) { copy(b[16:], "\x00\x00\x3f\xff\x00\x00\x3f\xff") })))},
		"JPEG":                            {"set", "folder:" + filepath.Dir(file("jpeg/1.jpg", onlyHead(photograph.Bytes(), func(b []byte) { copy(b[frame+5:], "\x3f\xff\x3f\xff") })))},
		"photographs of frost":            {"frost", filepath.Dir(file("frost/1.png", pngZeros(t, 16000, 16000)))},
		"labels of NumPy, no such values": {"set", "npy:" + file("i.npy", append(arrayHeader(t, "|u1", 1<<30, 32, 32), 1)) + "," + file("l.npy", append(arrayHeader(t, "|u1", 1<<30), 1))},
	} {
		t.Run(name, func(t *testing.T) {
			cmd := exec.Command(os.Args[0], "read", c.reader, c.path)
			cmd.Env = os.Environ()
			data := t.TempDir()
			switch c.path {
			case "mnist/test":
				os.Mkdir(filepath.Join(data, "mnist"), 0o777)
				testkit.Write(t, gzipped(zeros(images, bomb)), data, "mnist", "t10k-images-idx3-ubyte.gz")
				testkit.Write(t, packedLabels.Bytes(), data, "mnist", "t10k-labels-idx1-ubyte.gz")
			case "cifar10/test":
				os.Mkdir(filepath.Join(data, "cifar10"), 0o777)
				testkit.Write(t, gzipped(zeros(tarHead(t, "cifar-10-batches-bin/test_batch.bin", 5<<30), bomb)), data, "cifar10", "cifar-10-binary.tar.gz")
			}
			cmd.Env = append(cmd.Env, "CERTSPEC_DATA="+data)
			out, err := cmd.CombinedOutput()
			text := string(out)
			used := cmd.ProcessState.SysUsage().(*syscall.Rusage).Maxrss << 10
			if err != nil || !strings.HasPrefix(text, "error: ") || strings.Contains(text, "<nil>") || used > memory {
				t.Fatalf("%v, %d MB: %.600s", err, used>>20, text)
			}
			t.Logf("%d MB: %s", used>>20, text)
		})
	}
}
