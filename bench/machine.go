package main

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"
)

// machine describes the machine of a benchmark. It names no host.
type machine struct {
	OS    string `json:"os"`
	Arch  string `json:"arch"`
	CPU   string `json:"cpu"`
	Cores int    `json:"cores"`
	Go    string `json:"go"` // with the experiments of the build, e.g. X:simd
}

func thisMachine() machine {
	return machine{OS: runtime.GOOS, Arch: runtime.GOARCH, CPU: cpuName(), Cores: runtime.NumCPU(), Go: runtime.Version()}
}

func (m machine) String() string {
	return fmt.Sprintf("%s/%s, %s, %d cores, %s", m.OS, m.Arch, m.CPU, m.Cores, m.Go)
}

// load is the number of processes that ran or waited for a processor in the last minute, in the mean; empty where the system does not tell.
// One program with all cores to itself makes about as many as there are cores.
func load() string {
	text, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		return ""
	}
	first, _, _ := strings.Cut(string(text), " ")
	return first
}

// cpuName is the processor as the system names it, with family, model and stepping where it tells them:
// virtual machines often hide the name proper.
func cpuName() string {
	if runtime.GOOS == "darwin" {
		out, err := exec.Command("sysctl", "-n", "machdep.cpu.brand_string").Output()
		if err == nil {
			return strings.TrimSpace(string(out))
		}
	}
	f, err := os.Open("/proc/cpuinfo")
	if err != nil {
		return "unknown processor"
	}
	defer f.Close()
	fields := map[string]string{}
	for lines := bufio.NewScanner(f); lines.Scan() && lines.Text() != ""; {
		key, value, _ := strings.Cut(lines.Text(), ":")
		fields[strings.TrimSpace(key)] = strings.TrimSpace(value)
	}
	name := fields["model name"]
	if name == "" {
		return "unknown processor"
	}
	if fields["cpu family"] != "" {
		name += fmt.Sprintf(" (family %s model %s stepping %s)", fields["cpu family"], fields["model"], fields["stepping"])
	}
	return name
}
