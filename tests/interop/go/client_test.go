package interop

// grpc-go against cuzkd: each call of cuzk.v1.ProvingEngine, and what its answers mean.

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"sort"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	cuzkv1 "cuzk/v1"

	"github.com/golang/protobuf/jsonpb"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/status"
)

const long = `{"partitions": 50, "witness_ms": 60000}`

func TestEveryCall(t *testing.T) {
	d := newDaemon(t, true)
	targets := []string{d.unix, "unix:" + strings.TrimPrefix(d.unix, "unix://"), d.tcp}
	for i, target := range targets {
		everyCall(t, dial(t, target), i)
	}
	must(t, d.end(syscall.SIGTERM))
}

func everyCall(t *testing.T, c *client, round int) {
	ctx := within(t, patience)
	id := fmt.Sprint("a", round)
	s, err := c.SubmitProof(ctx, porep(id, `{"partitions": 3}`))
	must(t, err)
	check(t, s.JobId != "" && !s.Existed && s.QueueDepth == 1, s)
	done := c.completed(t, s.JobId)
	check(t, done.JobId == s.JobId && len(done.Proof) == 3*192, done)
	check(t, done.SynthesisMs >= 30 && done.GpuComputeMs >= 15 && done.TotalMs >= 10, done)
	check(t, bytes.Equal(c.completed(t, id).Proof, done.Proof)) // by its request id

	once, err := c.Prove(ctx, &cuzkv1.ProveRequest{Submit: &cuzkv1.SubmitProofRequest{
		ProofKind:       cuzkv1.ProofKind_WINNING_POST,
		RegisteredProof: 3,
		VanillaProofs:   [][]byte{[]byte("{}")},
	}})
	must(t, err)
	check(t, once.Result.Status == cuzkv1.AwaitProofResponse_COMPLETED, once)
	check(t, len(once.Result.Proof) == 192, once)

	cancelled, err := c.CancelProof(ctx, &cuzkv1.CancelProofRequest{JobId: s.JobId})
	must(t, err)
	check(t, !cancelled.WasRunning)

	now, err := c.GetStatus(ctx, &cuzkv1.GetStatusRequest{})
	must(t, err)
	completed := 2 * (round + 1)
	check(t, len(now.Gpus) == 1 && now.Gpus[0].Up && now.Gpus[0].VramTotalBytes > 0, now)
	check(t, now.TotalProofsCompleted == uint64(completed) && now.TotalProofsFailed == 0, now)
	check(t, now.HostMemoryLimitBytes == 8<<30 && now.QueueDepth == 0 && !now.Draining, now)

	metrics, err := c.GetMetrics(ctx, &cuzkv1.GetMetricsRequest{})
	must(t, err)
	line := fmt.Sprintf("\ncuzk_proofs_completed_total %d\n", completed)
	check(t, strings.Contains(metrics.PrometheusText, line), metrics.PrometheusText)

	for _, already := range []bool{false, true} {
		loaded, err := c.PreloadSRS(ctx, &cuzkv1.PreloadSrsRequest{CircuitId: "snap-32g"})
		must(t, err)
		check(t, loaded.AlreadyLoaded == already, loaded)
	}
	now, err = c.GetStatus(ctx, &cuzkv1.GetStatusRequest{})
	must(t, err)
	held := false
	for _, key := range now.LoadedSrs {
		held = held || key.CircuitId == "snap-32g" && key.SizeBytes > 0
	}
	check(t, held, now.LoadedSrs)
	for _, was := range []bool{true, false} {
		evicted, err := c.EvictSRS(ctx, &cuzkv1.EvictSrsRequest{CircuitId: "snap-32g"})
		must(t, err)
		check(t, evicted.WasLoaded == was && (evicted.FreedBytes > 0) == was, evicted)
	}
}

func TestEndsOfJobs(t *testing.T) {
	d := newDaemon(t, true)
	c := dial(t, d.tcp)
	slow, queued := c.submit(t, porep("slow", long)), c.submit(t, porep("queued", long))
	c.until(t, slow, running)

	check(t, c.await(t, slow, 50).Status == cuzkv1.AwaitProofResponse_TIMEOUT)
	_, err := c.AwaitProof(within(t, 100*time.Millisecond), &cuzkv1.AwaitProofRequest{JobId: slow})
	refused(t, err, codes.DeadlineExceeded, "")

	waiting := make(chan *cuzkv1.AwaitProofResponse, 1)
	go func() {
		a, err := c.AwaitProof(within(t, patience), &cuzkv1.AwaitProofRequest{JobId: slow})
		if err != nil {
			a = &cuzkv1.AwaitProofResponse{ErrorMessage: err.Error()}
		}
		waiting <- a
	}()
	cancelled, err := c.CancelProof(within(t, patience), &cuzkv1.CancelProofRequest{JobId: slow})
	must(t, err)
	check(t, cancelled.WasRunning)
	a := <-waiting
	check(t, a.Status == cuzkv1.AwaitProofResponse_CANCELLED, a)
	_, err = c.CancelProof(within(t, patience), &cuzkv1.CancelProofRequest{JobId: "queued"})
	must(t, err)
	check(t, c.await(t, queued, 0).Status == cuzkv1.AwaitProofResponse_CANCELLED)

	input := porep("input", `{"faults": [{"stage": "witness", "fault": "input", "times": 0}]}`)
	failed := c.await(t, c.submit(t, input), 0)
	check(t, failed.Status == cuzkv1.AwaitProofResponse_FAILED && !failed.DeadlinePassed, failed)
	check(t, strings.Contains(failed.ErrorMessage, "witness") && len(failed.Proof) == 0, failed)

	late := porep("late", long)
	submitted, err := (*cuzkv1.SubmitProofResponse)(nil), error(nil)
	for i := 0; i == 0 || i < 50 && status.Code(err) == codes.DeadlineExceeded; i++ {
		late.DeadlineUnixMs = uint64(time.Now().Add(300 * time.Millisecond).UnixMilli())
		submitted, err = c.SubmitProof(within(t, patience), late)
	}
	must(t, err)
	failed = c.await(t, submitted.JobId, 0)
	check(t, failed.Status == cuzkv1.AwaitProofResponse_FAILED && failed.DeadlinePassed, failed)

	// The deadline of the call is the job's.
	short := ""
	for i := 0; short == ""; i++ { // a call may be over before it arrives
		id := fmt.Sprint("short", i)
		_, err = c.Prove(within(t, 300*time.Millisecond), &cuzkv1.ProveRequest{Submit: porep(id, long)})
		refused(t, err, codes.DeadlineExceeded, "")
		_, err = c.engine.GetJob(within(t, patience), &cuzkv1.GetJobRequest{JobId: id})
		if err == nil {
			short = id
		} else {
			refused(t, err, codes.NotFound, "")
			check(t, i < 50)
		}
	}
	c.until(t, short, func(j *cuzkv1.Job) bool {
		return j.State == cuzkv1.JobState_DEADLINE_PASSED
	})
}

func TestCodes(t *testing.T) {
	d := newDaemon(t, true)
	c := dial(t, d.unix)
	ctx := within(t, patience)
	_, err := c.AwaitProof(ctx, &cuzkv1.AwaitProofRequest{JobId: "nothing"})
	refused(t, err, codes.NotFound, "nothing")
	_, err = c.CancelProof(ctx, &cuzkv1.CancelProofRequest{JobId: "nothing"})
	refused(t, err, codes.NotFound, "nothing")
	_, err = c.PreloadSRS(ctx, &cuzkv1.PreloadSrsRequest{CircuitId: "nothing"})
	refused(t, err, codes.NotFound, "nothing")
	_, err = c.SubmitProof(ctx, &cuzkv1.SubmitProofRequest{})
	refused(t, err, codes.InvalidArgument, "proof_kind")
	_, err = c.SubmitProof(ctx, porep("huge", `{"witness": 1099511627776}`))
	refused(t, err, codes.FailedPrecondition, "never fits")

	// The same request is the same job; with another payload it is refused.
	first, err := c.SubmitProof(ctx, porep("same", `{"partitions": 2}`))
	must(t, err)
	again, err := c.SubmitProof(ctx, porep("same", `{"partitions": 2}`))
	must(t, err)
	check(t, again.Existed && again.JobId == first.JobId, again)
	_, err = c.SubmitProof(ctx, porep("same", `{"partitions": 3}`))
	refused(t, err, codes.AlreadyExists, "same")
	proof := c.completed(t, "same").Proof
	once, err := c.Prove(ctx, &cuzkv1.ProveRequest{Submit: porep("same", `{"partitions": 2}`)})
	must(t, err)
	check(t, bytes.Equal(once.Result.Proof, proof))
}

func TestFullQueue(t *testing.T) {
	d := newDaemon(t, true, "scheduler.max_jobs=3")
	c := dial(t, d.tcp)
	ctx := within(t, patience)
	for i := 0; i < 3; i++ {
		c.submit(t, porep(fmt.Sprint("full", i), `{"witness_ms": 60000}`))
	}
	_, err := c.SubmitProof(ctx, porep("one more", "{}"))
	comeBack(t, refused(t, err, codes.ResourceExhausted, "queue depth 3"))
	c.until(t, "full0", running)
	_, err = c.EvictSRS(ctx, &cuzkv1.EvictSrsRequest{CircuitId: "porep-32g"})
	refused(t, err, codes.FailedPrecondition, "")
}

// A refusal says when to come back.
func comeBack(t *testing.T, s *status.Status) {
	t.Helper()
	for _, detail := range s.Details() {
		if retry, ok := detail.(*errdetails.RetryInfo); ok {
			delay := retry.RetryDelay
			check(t, delay.Seconds > 0 || delay.Seconds == 0 && delay.Nanos > 0, delay)
			return
		}
	}
	t.Fatalf("no RetryInfo in %v", s.Details())
}

func TestPriority(t *testing.T) {
	d := newDaemon(t, true, "synthesis.workers=1")
	c := dial(t, d.tcp)
	// Holds the only synthesis worker until all are in the queue.
	blocker := c.submit(t, porep("blocker", `{"partitions": 1, "witness_ms": 60000}`))
	c.until(t, blocker, running)
	var ids []string
	for i, p := range []cuzkv1.Priority{1, 2, 1, 3, 4, 2} {
		r := porep(fmt.Sprint("p", i), `{"partitions": 2, "witness_ms": 40}`)
		r.Priority = p
		ids = append(ids, c.submit(t, r))
	}
	_, err := c.CancelProof(within(t, patience), &cuzkv1.CancelProofRequest{JobId: blocker})
	must(t, err)
	for _, id := range ids {
		c.completed(t, id)
	}
	trace, err := c.engine.GetTrace(within(t, patience),
		&cuzkv1.GetTraceRequest{Format: cuzkv1.GetTraceRequest_CSV})
	must(t, err)
	var begun [][]string // in the order in which they were begun
	for _, line := range strings.Split(string(trace.Text), "\n") {
		f := strings.Split(line, ",")
		if len(f) > 3 && f[2] == "SYNTH_START" && f[3] != blocker {
			begun = append(begun, f)
		}
	}
	at := func(i int) int { ms, _ := strconv.Atoi(begun[i][1]); return ms }
	sort.SliceStable(begun, func(i, j int) bool { return at(i) < at(j) })
	check(t, len(begun) == 12, begun)
	for i, job := range []int{4, 4, 3, 3, 1, 1, 5, 5, 0, 0, 2, 2} {
		check(t, begun[i][3] == ids[job], i, begun)
	}
}

// As large as the vanilla proofs of a 32 GiB sector.
func TestLargeMessage(t *testing.T) {
	d := newDaemon(t, true)
	vanilla := bytes.Repeat([]byte("vanilla "), 56<<20/8)
	for _, target := range []string{d.unix, d.tcp} {
		c := dial(t, target)
		a := c.completed(t, c.submit(t, porep(target, string(vanilla))))
		check(t, len(a.Proof) == 10*192, len(a.Proof))
	}
}

// The connection outlives the daemon, and so do its jobs.
func TestRestart(t *testing.T) {
	d := newDaemon(t, true)
	c := dial(t, d.unix)
	proof := c.completed(t, c.submit(t, porep("done", `{"partitions": 2}`))).Proof
	var ids []string
	for i := 0; i < 4; i++ {
		ids = append(ids, c.submit(t, porep(fmt.Sprint("k", i), `{"partitions": 4, "witness_ms": 60}`)))
	}
	c.until(t, ids[0], func(j *cuzkv1.Job) bool { return j.PartitionsDone > 0 })
	d.end(syscall.SIGKILL)
	d.start()
	for _, id := range ids {
		check(t, len(c.completed(t, id).Proof) == 4*192)
	}
	check(t, bytes.Equal(c.completed(t, "done").Proof, proof))

	// Drain refuses new work until Resume.
	ctx := within(t, patience)
	health := func(wanted grpc_health_v1.HealthCheckResponse_ServingStatus) {
		t.Helper()
		watch, err := grpc_health_v1.NewHealthClient(c.conn).Watch(ctx,
			&grpc_health_v1.HealthCheckRequest{Service: "cuzk.v1.ProvingEngine"})
		must(t, err)
		for h := (&grpc_health_v1.HealthCheckResponse{}); h.Status != wanted; {
			h, err = watch.Recv()
			must(t, err)
		}
	}
	health(grpc_health_v1.HealthCheckResponse_SERVING)
	_, err := c.engine.Drain(ctx, &cuzkv1.DrainRequest{})
	must(t, err)
	health(grpc_health_v1.HealthCheckResponse_NOT_SERVING)
	_, err = c.SubmitProof(ctx, porep("refused", "{}"))
	comeBack(t, refused(t, err, codes.Unavailable, "draining"))
	_, err = c.engine.Resume(ctx, &cuzkv1.ResumeRequest{})
	must(t, err)
	health(grpc_health_v1.HealthCheckResponse_SERVING)
	c.completed(t, c.submit(t, porep("again", "{}")))
	must(t, d.end(syscall.SIGTERM))
}

// Proofs on the CPU, submitted together, each verified. CUZK_INTEROP_BIG=1 adds the kinds whose
// development keys take a minute.
func TestRealProofs(t *testing.T) {
	dir := t.TempDir()
	keys := filepath.Join(dir, "keys")
	kinds := []string{"wpost"}
	if os.Getenv("CUZK_INTEROP_BIG") == "1" {
		kinds = append(kinds, "winning", "snap", "porep")
	}
	d := newDaemon(t, false, "gpus.devices=cpu", "srs.param_cache="+keys,
		"srs.allow_insecure_keys=true", "circom.zkey_dir="+dir)
	c := dial(t, d.unix)
	ctx := within(t, 9*time.Minute)
	input := func(kind string) string { return filepath.Join(dir, kind+".json") }
	ids := map[string]string{}
	for _, kind := range kinds {
		cuzk(t, "setup", "--circuit", kind+"-2k", "--insecure-seed", "00", keys)
		cuzk(t, "sector", kind+"-2k", "--seed", "00", input(kind))
		text, err := os.ReadFile(input(kind))
		must(t, err)
		request := porep("", string(text)) // its file is a C1 output
		if kind != "porep" {               // the others' the message itself
			request = &cuzkv1.SubmitProofRequest{}
			must(t, jsonpb.UnmarshalString(string(text), request))
		}
		ids[kind] = c.submit(t, request)
	}

	circuit := filepath.Join(os.Getenv("CUZK_ROOT"), "tests/vectors/circom/bn128/mul3")
	zkey, err := os.ReadFile(filepath.Join(circuit, "circuit_final.zkey"))
	must(t, err)
	must(t, os.WriteFile(filepath.Join(dir, "mul3.zkey"), zkey, 0o600))
	wtns, err := os.ReadFile(filepath.Join(circuit, "witness.wtns"))
	must(t, err)
	proved, err := c.engine.ProveCircom(ctx, &cuzkv1.SubmitCircomRequest{Key: "mul3", Wtns: wtns})
	must(t, err)
	check(t, proved.Result.Status == cuzkv1.AwaitProofResponse_COMPLETED, proved)
	check(t, bytes.Contains(proved.Result.Proof, []byte("pi_a")), string(proved.Result.Proof))

	for kind, id := range ids {
		a, err := c.AwaitProof(ctx, &cuzkv1.AwaitProofRequest{JobId: id})
		must(t, err)
		check(t, a.Status == cuzkv1.AwaitProofResponse_COMPLETED, a)
		out := filepath.Join(dir, kind+".bin")
		must(t, os.WriteFile(out, a.Proof, 0o600))
		cuzk(t, kind, "verify", input(kind), out, "--params", keys, "--allow-insecure-keys")
	}
}
