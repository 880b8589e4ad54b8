//go:build external

package external

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/certspec/certspec/internal/testkit"
)

// modelVariable makes the test binary the model of the jobs, a program behind a pipe.
const modelVariable = "CERTSPEC_TEST_MODEL"

func TestMain(m *testing.M) {
	if os.Getenv(modelVariable) != "" {
		serveModel()
		return
	}
	code := m.Run()
	atEnd()
	os.Exit(code)
}

// serveModel answers the class of the mean of an image's first values, by the protocol of package engine/pipe. It takes
// its time, so that a job can be met at its work.
func serveModel() {
	const values, classes = 32 * 32 * 3, 10
	hello, _ := json.Marshal(map[string]any{"name": "patient", "weights": "the mean of 48 values", "height": 32, "width": 32, "channels": 3,
		"classes": classes, "layout": "hwc", "dtype": "int16", "output": "classes"})
	os.Stdout.WriteString("certspec")
	binary.Write(os.Stdout, binary.LittleEndian, []uint32{1, uint32(len(hello))})
	os.Stdout.Write(hello)
	for {
		var head struct {
			ID       uint64
			N, Bytes uint32
		}
		if err := binary.Read(os.Stdin, binary.LittleEndian, &head); err != nil {
			return
		}
		batch := make([]int16, head.Bytes/2)
		if err := binary.Read(os.Stdin, binary.LittleEndian, batch); err != nil {
			return
		}
		time.Sleep(20 * time.Millisecond)
		answer := []any{head.ID, head.N, 4 * head.N}
		for i := range int(head.N) {
			sum := 0
			for _, v := range batch[i*values : i*values+48] {
				sum += int(v)
			}
			answer = append(answer, int32(min(max(sum*classes/(48*256), 0), classes-1)))
		}
		var b bytes.Buffer
		for _, v := range answer {
			binary.Write(&b, binary.LittleEndian, v)
		}
		os.Stdout.Write(b.Bytes())
	}
}

// slurm is a Slurm of one node, from packages of Debian that are unpacked and not installed.
type slurm struct {
	t    *testing.T
	root string // of the packages
	dir  string // of this run
	env  []string
}

// slurmPackages are what a machine needs to be controller and node at once.
var slurmPackages = []string{"slurmctld", "slurmd", "slurm-client", "slurm-wlm-basic-plugins", "munge", "libmunge2", "libhwloc15", "liblua5.1-0"}

// startSlurm starts munge, the controller and the node, all as the user of the test and on ports of their own.
func startSlurm(t *testing.T) *slurm {
	t.Helper()
	root := debian(t, "slurm", append([]string{"download"}, slurmPackages...)...)
	libraries, _ := filepath.Glob(filepath.Join(root, "usr/lib/*/slurm-wlm"))
	if len(libraries) != 1 {
		t.Fatalf("the packages in %s have the plugins %v", root, libraries)
	}
	parent := os.TempDir() // short: sockets lie below it
	if strings.Contains(parent, " ") {
		parent = "/tmp" // paths in slurm.conf end at a space
	}
	dir, err := os.MkdirTemp(parent, "slurm-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	host, err := os.Hostname()
	if err != nil {
		t.Fatal(err)
	}
	host, _, _ = strings.Cut(host, ".")
	port := 20_000 + os.Getpid()%6_000*2 // below those that outgoing connections get
	s := &slurm{t: t, root: root, dir: dir}
	if err := os.Symlink(libraries[0], s.path("plugins")); err != nil {
		t.Fatal(err)
	}
	s.env = append(os.Environ(),
		"LD_LIBRARY_PATH="+filepath.Dir(libraries[0])+":"+libraries[0],
		"PATH="+filepath.Join(root, "usr/bin")+":"+filepath.Join(root, "usr/sbin")+":"+os.Getenv("PATH"),
		"SLURM_CONF="+s.path("slurm.conf"))
	for _, folder := range []string{"state", "spool", "munge"} {
		if err := os.Mkdir(s.path(folder), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	s.write("munge/key", strings.Repeat("a key for one test ", 60), 0o400)
	s.write("plugstack.conf", "", 0o644)
	s.write("slurm.conf", fmt.Sprintf(`ClusterName=test
SlurmctldHost=%[1]s(127.0.0.1)
SlurmctldPort=%[2]d
SlurmdPort=%[3]d
SlurmUser=%[4]d
SlurmdUser=%[4]d
AuthInfo=socket=%[5]s/munge/socket
PluginDir=%[5]s/plugins
PlugStackConfig=%[5]s/plugstack.conf
StateSaveLocation=%[5]s/state
SlurmdSpoolDir=%[5]s/spool
SlurmctldPidFile=%[5]s/slurmctld.pid
SlurmdPidFile=%[5]s/slurmd.pid
SlurmctldLogFile=%[5]s/slurmctld.log
SlurmdLogFile=%[5]s/slurmd.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
MpiDefault=none
MailProg=/bin/true
KillWait=5
NodeName=%[1]s NodeAddr=127.0.0.1 CPUs=%[6]d State=UNKNOWN
PartitionName=all Nodes=%[1]s Default=YES State=UP MaxTime=INFINITE
`, host, port, port+1, os.Getuid(), dir, runtime.NumCPU()), 0o644)
	t.Cleanup(func() {
		if t.Failed() {
			logs, _ := filepath.Glob(s.path("*.log"))
			for _, name := range logs {
				text, _ := os.ReadFile(name)
				t.Logf("%s:\n%s", filepath.Base(name), text)
			}
		}
	})
	s.daemon("munge/pid", "munged", "--force", "--key-file="+s.path("munge/key"), "--socket="+s.path("munge/socket"),
		"--pid-file="+s.path("munge/pid"), "--log-file="+s.path("munge/log"), "--seed-file="+s.path("munge/seed"))
	s.daemon("slurmctld.pid", "slurmctld-wlm")
	s.daemon("slurmd.pid", "slurmd-wlm", "-d", filepath.Join(root, "usr/sbin/slurmstepd-wlm"))
	s.until("the node is idle", func() bool { return strings.Contains(s.run("sinfo", "-h", "-o", "%t"), "idle") })
	return s
}

func (s *slurm) path(name string) string { return filepath.Join(s.dir, name) }

func (s *slurm) write(name, text string, mode os.FileMode) {
	s.t.Helper()
	if err := os.WriteFile(s.path(name), []byte(text), mode); err != nil {
		s.t.Fatal(err)
	}
}

// daemon starts a program that puts itself into the background, and ends it with the test.
func (s *slurm) daemon(pidFile, program string, args ...string) {
	s.t.Helper()
	s.t.Cleanup(func() {
		text, err := os.ReadFile(s.path(pidFile))
		pid, err2 := strconv.Atoi(strings.TrimSpace(string(text)))
		if errors.Join(err, err2) != nil {
			return
		}
		if p, err := os.FindProcess(pid); err == nil {
			p.Signal(os.Interrupt)
			for range 50 {
				if p.Signal(syscall.Signal(0)) != nil {
					return
				}
				time.Sleep(100 * time.Millisecond)
			}
			p.Kill()
		}
	})
	s.run(program, args...)
}

// run runs a program of the packages.
func (s *slurm) run(program string, args ...string) string {
	s.t.Helper()
	for _, folder := range []string{"usr/bin", "usr/sbin"} {
		if path := filepath.Join(s.root, folder, program); exists(path) {
			program = path
		}
	}
	cmd := exec.Command(program, args...)
	cmd.Env, cmd.Dir = s.env, s.dir
	var out bytes.Buffer // a file would be held open by the daemons
	cmd.Stdout, cmd.Stderr = &out, &out
	cmd.WaitDelay = 5 * time.Second
	if err := cmd.Run(); err != nil && !errors.Is(err, exec.ErrWaitDelay) {
		s.t.Fatalf("%s %q: %v\n%s", filepath.Base(program), args, err, &out)
	}
	return out.String()
}

// signal sends USR1 to the script of a job, as Slurm does before the time limit. Where the job puts itself into the queue
// at once, scancel takes that for a failure and tries again for long, so nobody waits for it:
// enough ends that.
func (s *slurm) signal(job string) (enough func()) {
	s.t.Helper()
	cmd := exec.Command(filepath.Join(s.root, "usr/bin/scancel"), "--batch", "--signal=USR1", job)
	cmd.Env = s.env
	if err := cmd.Start(); err != nil {
		s.t.Fatal(err)
	}
	return func() {
		cmd.Process.Kill()
		cmd.Wait()
	}
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// until waits for something that will happen.
func (s *slurm) until(what string, happened func() bool) {
	s.t.Helper()
	for end := time.Now().Add(3 * time.Minute); !happened(); time.Sleep(200 * time.Millisecond) {
		if time.Now().After(end) {
			s.t.Fatalf("waited in vain until %s\n%s", what, s.run("squeue", "-a"))
		}
	}
}

// A run is split over an array of jobs, with the scripts that users get. One task is asked to stop, as before its time
// limit, one is killed and put into the queue again; the merged ledger has the bytes of a run in one process.
func TestExternalSlurm(t *testing.T) {
	s := startSlurm(t)
	certspec, out := builtProgram(t), s.path("out")
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	examples, err := filepath.Abs("../../examples/slurm")
	if err != nil {
		t.Fatal(err)
	}
	s.env = append(s.env, modelVariable+"=1", "CERTSPEC="+certspec, "CERTSPEC_OUT="+out)
	flags := []string{"--exec", "'" + program + "'", "--data", "synthetic/test", "--max-index", "12", "--sigma", "0.25", "--n", "8000", "--rule", "fixed"}
	whole := s.path("whole.ledger")
	single := exec.Command(certspec, append(append([]string{"certify"}, flags...), "--out", whole)...)
	single.Env = s.env
	alone := make(chan error, 1)
	var said bytes.Buffer
	single.Stderr = &said
	go func() { alone <- single.Run() }()

	job := strings.TrimSpace(s.run("sbatch", append([]string{"--parsable", "--array=0-3", filepath.Join(examples, "certify.sbatch")}, flags...)...))
	merge := strings.TrimSpace(s.run("sbatch", "--parsable", "--dependency=afterok:"+job, filepath.Join(examples, "merge.sbatch")))
	begun := func(task int) func() bool {
		return func() bool {
			text, _ := os.ReadFile(filepath.Join(out, fmt.Sprintf("shard-%d.ledger", task)))
			return bytes.Count(text, []byte("\n")) >= 3 // the header and two looks, or provisional lines
		}
	}
	log := func(task int) string {
		text, _ := os.ReadFile(s.path(fmt.Sprintf("certify-%s_%d.log", job, task)))
		return string(text)
	}
	s.until("task 0 works", begun(0))
	enough := s.signal(job + "_0")
	s.until("task 0 has stopped on request", func() bool { return strings.Contains(log(0), "stopped on request") })
	enough()
	s.until("task 1 works", begun(1))
	if text, _ := os.ReadFile(filepath.Join(out, "shard-1.ledger")); bytes.Contains(text, []byte("claims")) {
		t.Fatal("task 1 is done before it could be killed: a slower model is needed")
	}
	s.run("scontrol", "requeue", job+"_1")

	s.until("the merge is done", func() bool {
		waiting := s.run("squeue", "-h", "-r", "-t", "PENDING", "-j", job, "-o", "%F_%K %r")
		for _, task := range regexp.MustCompile(`(?m)^(\d+_\d+) BeginTime`).FindAllStringSubmatch(waiting, -1) {
			s.run("scontrol", "update", "JobId="+task[1], "StartTime=now") // a requeued job waits two minutes otherwise
		}
		return strings.Contains(s.run("scontrol", "show", "job", merge), "JobState=COMPLETED")
	})
	if err := <-alone; err != nil {
		t.Fatalf("the run in one process: %v\n%s", err, &said)
	}
	want := testkit.Read(t, whole)
	got := testkit.Read(t, out, "merged.ledger")
	if !bytes.Equal(got, want) {
		t.Errorf("merged\n%s\nwant\n%s", got, want)
	}
	for task := range 2 {
		if restarts := s.run("scontrol", "show", "job", fmt.Sprintf("%s_%d", job, task)); !regexp.MustCompile(`Restarts=[1-9]`).MatchString(restarts) {
			t.Errorf("task %d was not started again:\n%s", task, restarts)
		}
	}
	if text, _ := os.ReadFile(s.path("merge-" + merge + ".log")); !strings.Contains(string(text), "merged.ledger: holds: 12 images") {
		t.Errorf("the merge says\n%s", text)
	}
}
