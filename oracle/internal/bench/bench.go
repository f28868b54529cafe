// Package bench measures how much processor time the managers take for the
// steps of a scenario. It records nothing else.
package bench

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"runtime"
	"time"

	"golang.org/x/sys/unix"
	v1 "k8s.io/api/core/v1"

	"numalet/oracle/internal/kubelet"
	"numalet/oracle/internal/scenario"
)

// input is a scenario without restarts. The first steps, up to TimedFrom, only
// prepare the node. The containers of a pod start with the step after it.
type input struct {
	scenario.Scenario
	Name      string `json:"name"`
	TimedFrom int    `json:"timed_from"`
}

// Result is the answer to a line. Admitted has the decision about every pod.
type Result struct {
	Name     string  `json:"name"`
	Seconds  float64 `json:"cpu_seconds"`
	Admitted []bool  `json:"admitted"`
}

// GivenUp is the exit status of a process that has used too much processor time.
const GivenUp = 9

// Bench gives up when the measured steps take more processor time than this.
type Bench struct {
	Limit time.Duration
}

// Line runs the scenario of a line on a new node in a folder.
func (b Bench) Line(ctx context.Context, folder string, line []byte) ([]byte, error) {
	var given input
	if err := json.Unmarshal(line, &given); err != nil {
		return nil, err
	}
	for i, step := range given.Steps {
		if step.Restart != nil {
			return nil, fmt.Errorf("step %d is a restart, which is not measured", i)
		}
		if step.Admit == nil {
			continue
		}
		served, err := kubelet.AsServed(step.Admit)
		if err != nil {
			return nil, err
		}
		given.Steps[i].Admit = served
	}
	node, err := kubelet.New(folder, given.Machine, given.Devices)
	if err != nil {
		return nil, err
	}
	if err := node.Start(ctx, given.Config); err != nil {
		return nil, err
	}
	node.SourcesReady()
	done := make(chan struct{})
	go b.giveUp(done)
	result, err := measure(ctx, node, given)
	close(done)
	_, stopErr := node.Stop(ctx)
	if err := errors.Join(err, stopErr); err != nil {
		return nil, err
	}
	return json.Marshal(result)
}

// giveUp ends this process if the time is used up. A merge cannot be interrupted.
// Processor time is counted, because other work on the machine makes clocks useless.
func (b Bench) giveUp(done <-chan struct{}) {
	begin := processorTime()
	tick := time.NewTicker(200 * time.Millisecond)
	defer tick.Stop()
	for {
		select {
		case <-done:
			return
		case <-tick.C:
			if processorTime()-begin > b.Limit {
				os.Exit(GivenUp)
			}
		}
	}
}

func measure(ctx context.Context, node *kubelet.Node, given input) (*Result, error) {
	result := &Result{Name: given.Name, Admitted: []bool{}}
	var begin time.Duration
	var starting *v1.Pod // admitted by the latest step
	for i, step := range given.Steps {
		if starting != nil {
			node.StartContainers(ctx, starting)
			starting = nil
		}
		if i == given.TimedFrom {
			// What the preparation left behind is not collected in the measured time.
			runtime.GC()
			begin = processorTime()
		}
		if step.Remove != nil {
			if err := node.Remove(ctx, *step.Remove); err != nil {
				return nil, err
			}
			continue
		}
		admitted := node.Admit(ctx, step.Admit).Admit
		result.Admitted = append(result.Admitted, admitted)
		if admitted {
			starting = step.Admit
		}
	}
	result.Seconds = (processorTime() - begin).Seconds()
	return result, nil
}

// processorTime is that of all threads of this process.
func processorTime() time.Duration {
	var now unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_PROCESS_CPUTIME_ID, &now); err != nil {
		panic(err) // the clock always exists
	}
	return time.Duration(now.Nano())
}
