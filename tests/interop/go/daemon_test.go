package interop

// A cuzkd under test, and clients of it as Curio's node makes them.

import (
	"bufio"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	cuzkv1 "cuzk/v1"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

const patience = 2 * time.Minute

// The fastest that a simulated device can be, and still have an order.
const quick = `[mock]
witness = "10ms"
stage = "2ms"
compute = "5ms"
finish = "2ms"
verify = "1ms"
`

func program(name string) string { return filepath.Join(os.Getenv("CUZK_BUILD"), "bin", name) }

type daemon struct {
	t         *testing.T
	dir       string
	words     []string
	cmd       *exec.Cmd
	ended     chan error
	unix, tcp string
}

// settings: NAME=VALUE.
func newDaemon(t *testing.T, mock bool, settings ...string) *daemon {
	dir, err := os.MkdirTemp("", "cuzk-go-")
	must(t, err)
	t.Cleanup(func() { os.RemoveAll(dir) })
	d := &daemon{t: t, dir: dir}
	d.unix = "unix://" + filepath.Join(dir, "s")
	if mock {
		file := filepath.Join(dir, "mock.toml")
		must(t, os.WriteFile(file, []byte(quick), 0o600))
		d.words = append(d.words, "--mock", file)
	}
	for _, s := range append([]string{
		"daemon.listen=" + d.unix + ",127.0.0.1:0",
		"daemon.state_dir=" + filepath.Join(dir, "state"),
		"memory.total_budget=8GiB",
		"limits.drain_grace=500ms",
	}, settings...) {
		d.words = append(d.words, "--set", s)
	}
	d.start()
	t.Cleanup(func() { d.end(syscall.SIGKILL) })
	return d
}

func (d *daemon) start() {
	d.t.Helper()
	cmd := exec.Command(program("cuzkd"), d.words...)
	pipe, err := cmd.StderrPipe()
	must(d.t, err)
	must(d.t, cmd.Start())
	ready := make(chan string, 1)
	ended := make(chan error, 1)
	go func() {
		var log, tcp string
		for lines := bufio.NewScanner(pipe); lines.Scan(); {
			line := lines.Text()
			log += line + "\n"
			if i := strings.Index(line, "gRPC on 127.0.0.1:"); i >= 0 {
				tcp = strings.Fields(line[i:])[2]
			}
			if strings.HasSuffix(line, "daemon: ready") {
				ready <- tcp
			}
		}
		err := cmd.Wait()
		select {
		case ready <- "ended: " + log:
		default:
		}
		ended <- err
	}()
	d.cmd, d.ended = cmd, ended
	if d.tcp = <-ready; !strings.HasPrefix(d.tcp, "127.0.0.1:") {
		d.t.Fatalf("cuzkd: %s", d.tcp)
	}
}

// Sends a signal and waits for the end: nil after exit status 0.
func (d *daemon) end(signal os.Signal) error {
	if d.cmd == nil {
		return nil
	}
	d.cmd.Process.Signal(signal)
	d.cmd = nil
	return <-d.ended
}

type client struct {
	cuzkv1.ProvingEngineClient
	engine cuzkv1.EngineClient
	conn   *grpc.ClientConn
}

// Plaintext, by address or socket, messages of any size, calls that wait for the connection.
func dial(t *testing.T, target string) *client {
	conn, err := grpc.Dial(target, grpc.WithInsecure(), grpc.WithDefaultCallOptions(
		grpc.MaxCallRecvMsgSize(1<<30), grpc.MaxCallSendMsgSize(1<<30), grpc.WaitForReady(true)))
	must(t, err)
	t.Cleanup(func() { conn.Close() })
	return &client{cuzkv1.NewProvingEngineClient(conn), cuzkv1.NewEngineClient(conn), conn}
}

func within(t *testing.T, limit time.Duration) context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	t.Cleanup(cancel)
	return ctx
}

// Runs cuzk, which has to succeed, and returns what it prints.
func cuzk(t *testing.T, args ...string) string {
	t.Helper()
	out, err := exec.Command(program("cuzk"), args...).CombinedOutput()
	if err != nil {
		t.Fatalf("cuzk %v: %v: %s", args, err, out)
	}
	return string(out)
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func check(t *testing.T, ok bool, what ...interface{}) {
	t.Helper()
	if !ok {
		t.Fatal(what...)
	}
}

// The status of a call that failed as wanted.
func refused(t *testing.T, err error, wanted codes.Code, words string) *status.Status {
	t.Helper()
	s := status.Convert(err)
	if s.Code() != wanted || !strings.Contains(s.Message(), words) {
		t.Fatalf("%v instead of %v (%s)", err, wanted, words)
	}
	return s
}

// A PoRep for the mock: what it is to do travels as its vanilla proof.
func porep(id, what string) *cuzkv1.SubmitProofRequest {
	return &cuzkv1.SubmitProofRequest{
		RequestId:    id,
		ProofKind:    cuzkv1.ProofKind_POREP_SEAL_COMMIT,
		VanillaProof: []byte(what),
	}
}

func (c *client) submit(t *testing.T, r *cuzkv1.SubmitProofRequest) string {
	t.Helper()
	s, err := c.SubmitProof(within(t, patience), r)
	must(t, err)
	return s.JobId
}

func (c *client) await(t *testing.T, id string, ms uint64) *cuzkv1.AwaitProofResponse {
	t.Helper()
	a, err := c.AwaitProof(within(t, patience), &cuzkv1.AwaitProofRequest{JobId: id, TimeoutMs: ms})
	must(t, err)
	return a
}

func (c *client) completed(t *testing.T, id string) *cuzkv1.AwaitProofResponse {
	t.Helper()
	a := c.await(t, id, 0)
	check(t, a.Status == cuzkv1.AwaitProofResponse_COMPLETED, a)
	return a
}

// Waits until a condition on a job holds.
func (c *client) until(t *testing.T, id string, condition func(*cuzkv1.Job) bool) *cuzkv1.Job {
	t.Helper()
	stream, err := c.engine.WatchJob(within(t, patience), &cuzkv1.WatchJobRequest{JobId: id})
	must(t, err)
	for {
		job, err := stream.Recv()
		must(t, err)
		if condition(job) {
			return job
		}
	}
}

func running(j *cuzkv1.Job) bool { return j.State == cuzkv1.JobState_RUNNING }
