package cli

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// isWeights reports whether a path names weights without the network that they belong to, as other tools write them.
func isWeights(path string) bool {
	switch ending := strings.ToLower(filepath.Ext(path)); ending {
	case ".pt", ".pth", ".th", ".ckpt", ".pkl", ".bin", ".h5", ".keras", ".npz", ".msgpack":
		return true
	case ".tar":
		return strings.HasSuffix(strings.ToLower(path), ".pth.tar")
	case ".safetensors": // ours, where a card is beside it
		_, err := os.Stat(strings.TrimSuffix(path, filepath.Ext(path)) + ".json")
		return err != nil
	}
	return false
}

// WaysIn tells how a network whose weights are in a file becomes a model here, each way as commands to paste.
func WaysIn(weights string) string {
	name := shellWord(weights)
	stem := strings.TrimSuffix(weights, ".tar")
	stem = strings.TrimSuffix(stem, filepath.Ext(stem))
	onnx, out := shellWord(stem+".onnx"), shellWord(stem+".ledger")
	convert, tensors := "", name
	if e := filepath.Ext(weights); e != ".safetensors" && e != ".npz" {
		tensors = shellWord(stem + ".safetensors")
		convert = fmt.Sprintf(toSafetensors, name, tensors)
	}
	certify := "--data cifar10/test --count 100 --sigma 0.25 --n 1000 --out " + out
	return fmt.Sprintf(`Three ways in, with your own names in place of mynet, Net and cifar10/test:

1. Any network, as an ONNX file that Python writes (--mean and --std are those of its training):

    pip install torch onnx onnxscript
    python -c 'import sys, torch; from mynet import Net; net = Net(); net.load_state_dict(`+
		`torch.load(sys.argv[1], weights_only=True)); torch.onnx.export(net.eval(), (torch.zeros(2, 3, 32, 32),), `+
		`sys.argv[2], input_names=["image"], dynamic_shapes=({0: torch.export.Dim("batch")},))' %[1]s %[2]s
    certspec certify --model %[2]s --mean 0.4914,0.4822,0.4465 --std 0.2470,0.2435,0.2616 %[3]s

2. Any network, as a program that answers over a pipe; examples/pipe/pytorch_model.py has one to put yours into:

    certspec certify --exec "python examples/pipe/pytorch_model.py %[1]s" %[3]s

3. A residual network for CIFAR in the names of the common public repositories, as a model file:

%[6]s    certspec import --weights %[5]s --net resnet20 --input standardize --out %[4]s
    certspec certify --model %[4]s %[3]s
`, name, onnx, certify, shellWord(stem+"-imported"), tensors, convert)
}

// toSafetensors writes the weights of a checkpoint to a safetensors file. They stand under one of the
// usual names, or are all that was saved.
const toSafetensors = `    pip install torch safetensors
    python -c 'import sys, torch; from safetensors.torch import save_file; ` +
	`saved = torch.load(sys.argv[1], map_location="cpu", weights_only=True); ` +
	`found = [k for k in ("state_dict", "model_state_dict", "net", "model", "weights") if k in saved]; ` +
	`save_file({k: v.clone(memory_format=torch.contiguous_format) for k, v in ` +
	`(saved[found[0]] if found else saved).items()}, sys.argv[2])' %s %s
`

// shellWord quotes a path for a shell where it needs that.
func shellWord(path string) string {
	special := func(r rune) bool {
		return !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' ||
			strings.ContainsRune("/._-+,:@%", r))
	}
	if path != "" && !strings.ContainsFunc(path, special) {
		return path
	}
	return "'" + strings.ReplaceAll(path, "'", `'\''`) + "'"
}

// weightsAlone is the error of a file of weights that was given for a model.
func weightsAlone(path string) error {
	if _, err := os.Stat(path); errors.Is(err, os.ErrNotExist) {
		return Usagef("--model %s: no such file", path)
	}
	return Usagef("--model %s: the file holds weights, not the network that they belong to. %s", path, WaysIn(path))
}
