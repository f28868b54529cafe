// Command oracle records what the resource managers of one kubelet release
// decide: it reads scenarios as JSON lines and writes them with the outcome. It
// can also measure how much processor time the managers take.
package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"runtime"
	"runtime/debug"
	"strings"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/klog/v2"

	"numalet/oracle/internal/bench"
	"numalet/oracle/internal/kubelet"
	"numalet/oracle/internal/vectors"
	"numalet/oracle/internal/workers"
)

const usage = `Usage:
  oracle record [FLAGS] <scenarios.jsonl >recorded.jsonl
  oracle bench [FLAGS]      for each scenario on stdin, the processor time of its
                            steps from timed_from on, as a JSON line
  oracle gates              the feature gates of the kubelet as JSON
  oracle version            the Kubernetes version that is built in

Flags:
`

func main() {
	klog.SetLogger(logr.Discard())
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "oracle:", err)
		os.Exit(1)
	}
}

func run(arguments []string) error {
	flags := flag.NewFlagSet("oracle", flag.ContinueOnError)
	runs := vectors.Runs{}
	flags.IntVar(&runs.Plain, "runs", 3, "runs of a scenario")
	flags.IntVar(&runs.Devices, "device-runs", 8, "runs of a scenario with devices")
	flags.IntVar(&runs.Failures, "failure-runs", 16, "runs of a scenario in which a kubelet does not start")
	keepMarks := flags.Bool("keep-marks", false, "leave out what the expect of the input calls nondeterministic")
	pool := workers.Pool{}
	flags.IntVar(&pool.Size, "j", runtime.NumCPU(), "number of worker processes")
	flags.DurationVar(&pool.Timeout, "timeout", time.Minute, "time for all runs of a scenario that record makes")
	limit := flags.Duration("limit", 30*time.Second, "processor time after which bench gives a scenario up")
	flags.Usage = func() {
		fmt.Fprint(os.Stderr, usage)
		flags.PrintDefaults()
	}
	if len(arguments) == 0 {
		flags.Usage()
		return flag.ErrHelp
	}
	isWorker := arguments[0] == workers.Command && len(arguments) > 1
	if isWorker {
		arguments = arguments[1:]
	}
	if err := flags.Parse(arguments[1:]); err != nil {
		return err
	}
	pool.Arguments = arguments
	switch arguments[0] {
	case "record":
		if !isWorker {
			return record(pool)
		}
		recorder := vectors.Recorder{Release: release(), Runs: runs, KeepMarks: *keepMarks}
		return serve(recorder.Line)
	case "bench":
		if !isWorker {
			pool.Size = 1                 // a second worker would disturb the first
			pool.Timeout = 24 * time.Hour // the limit is processor time
			return measure(pool)
		}
		return serve(bench.Bench{Limit: *limit}.Line)
	case "gates":
		return kubelet.WriteGates(os.Stdout)
	case "version":
		fmt.Println(kubernetesVersion())
		return nil
	default:
		flags.Usage()
		return fmt.Errorf("unknown command %q", arguments[0])
	}
}

// record writes the recorded lines, and names on stderr those that could not
// be recorded, which are left out.
func record(pool workers.Pool) error {
	recorded, left := 0, 0
	err := pool.Each(os.Stdin, func(result workers.Recorded) error {
		if result.Err != nil {
			left++
			fmt.Fprintf(os.Stderr, "left out: %s: %v\n", nameOf(result.Input), result.Err)
			return nil
		}
		recorded++
		_, err := os.Stdout.Write(append(result.Output, '\n'))
		return err
	})
	fmt.Fprintf(os.Stderr, "release %s: %d recorded, %d left out\n", release(), recorded, left)
	return err
}

// measure answers every line at once, so that its caller can take turns.
func measure(pool workers.Pool) error {
	return pool.Each(os.Stdin, func(result workers.Recorded) error {
		output := result.Output
		if result.Err != nil {
			var err error
			answer := map[string]string{"name": nameOf(result.Input), "error": result.Err.Error()}
			if output, err = json.Marshal(answer); err != nil {
				return err
			}
		}
		_, err := os.Stdout.Write(append(output, '\n'))
		return err
	})
}

// serve is the worker process. It answers lines with the result of a function
// that gets a folder of its own for the kubelet's files.
func serve(answer func(ctx context.Context, folder string, line []byte) ([]byte, error)) (err error) {
	var folder string
	if os.Geteuid() == 0 {
		folder, err = workers.PrivateFolder()
	} else {
		folder, err = workers.TemporaryFolder()
		defer os.RemoveAll(folder)
	}
	if err != nil {
		return err
	}
	return workers.Serve(os.Stdin, os.Stdout, func(line []byte) ([]byte, error) {
		return answer(context.Background(), folder, line)
	})
}

func nameOf(line []byte) string {
	var named struct {
		Name string `json:"name"`
	}
	_ = json.Unmarshal(line, &named)
	return named.Name
}

// kubernetesVersion reads the version from the list of modules that the Go
// linker puts into every program.
func kubernetesVersion() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return ""
	}
	for _, module := range info.Deps {
		if module.Path == "k8s.io/kubernetes" {
			return strings.TrimPrefix(module.Version, "v")
		}
	}
	return ""
}

// release is the minor release, as in 1.37.
func release() string {
	parts := strings.SplitN(kubernetesVersion(), ".", 3)
	return strings.Join(parts[:min(2, len(parts))], ".")
}
