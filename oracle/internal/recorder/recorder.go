// Package recorder runs a scenario on a kubelet's managers and collects what
// they decide at every step.
package recorder

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"runtime/debug"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"

	"numalet/oracle/internal/kubelet"
	"numalet/oracle/internal/scenario"
)

// Record runs the scenario of a line on a new node in a folder. An error means
// that the outcome could not be recorded; errors of the kubelet are outcomes.
func Record(ctx context.Context, folder string, line []byte) (outcome *scenario.Outcome, err error) {
	// Some machines and states make a kubelet panic. The managers are thrown
	// away then, so the process can go on.
	defer func() {
		if problem := recover(); problem != nil {
			outcome, err = nil, fmt.Errorf("the kubelet panicked: %v, in %s", problem, panickedIn(debug.Stack()))
		}
	}()
	var input scenario.Scenario
	if err := json.Unmarshal(line, &input); err != nil {
		return nil, err
	}
	node, err := kubelet.New(folder, input.Machine, input.Devices)
	if err != nil {
		return nil, err
	}
	r := &run{node: node, folder: folder, config: input.Config, exact: input.RecordRaw}
	outcome, err = r.all(ctx, &input)
	_, stopErr := node.Stop(ctx)
	return outcome, errors.Join(err, stopErr)
}

// panickedIn returns the innermost function of Kubernetes in a stack.
func panickedIn(stack []byte) string {
	for _, line := range strings.Split(string(stack), "\n") {
		if strings.HasPrefix(line, "k8s.io/") {
			return line[:strings.LastIndex(line, "(")]
		}
	}
	return "an unknown function"
}

// run is one scenario on its way.
type run struct {
	node   *kubelet.Node
	folder string
	config []byte // of the latest start
	exact  bool
}

func (r *run) all(ctx context.Context, input *scenario.Scenario) (*scenario.Outcome, error) {
	if err := r.node.WriteStateFiles(input.StateFiles); err != nil {
		return nil, err
	}
	outcome := &scenario.Outcome{Steps: []scenario.StepOutcome{}}
	var err error
	if outcome.StartFailure, err = r.start(ctx); err != nil || outcome.StartError != nil {
		return outcome, err
	}
	r.node.SourcesReady()
	states, err := r.node.ReadStates(r.exact)
	if err != nil {
		return nil, err
	}
	outcome.InitialCPUState, outcome.InitialCPUStateRaw = states.CPUState, states.CPUStateRaw
	outcome.InitialMemoryState, outcome.InitialMemoryStateRaw = states.MemoryState, states.MemoryStateRaw

	for number, step := range input.Steps {
		result, err := r.step(ctx, step)
		if err != nil {
			return nil, fmt.Errorf("step %d: %w", number, err)
		}
		outcome.Steps = append(outcome.Steps, *result)
		if result.RestartOutcome != nil && result.StartError != nil {
			break // the kubelet is down
		}
	}
	return outcome, nil
}

// start separates errors of the kubelet from errors of the recorder.
func (r *run) start(ctx context.Context) (scenario.StartFailure, error) {
	err := r.node.Start(ctx, r.config)
	var failure *kubelet.Failure
	if !errors.As(err, &failure) {
		return scenario.StartFailure{}, err
	}
	text := r.standardPaths(failure.Cause.Error())
	return scenario.StartFailure{StartError: &text, StartErrorStage: failure.Stage}, nil
}

// standardPaths makes texts independent of the folder of this run.
func (r *run) standardPaths(text string) string {
	return strings.ReplaceAll(text, r.folder, kubelet.StandardFolder)
}

func (r *run) step(ctx context.Context, step scenario.Step) (result *scenario.StepOutcome, err error) {
	result = &scenario.StepOutcome{}
	switch {
	case step.Admit != nil:
		err = r.admitNew(ctx, step.Admit, result)
	case step.Remove != nil:
		err = r.node.Remove(ctx, *step.Remove)
	case step.Restart != nil:
		result.RestartOutcome, err = r.restart(ctx, step.Restart)
		if err == nil && result.StartError != nil {
			return result, nil
		}
	default:
		err = errors.New("the step is neither admit nor remove nor restart")
	}
	if err != nil {
		return nil, err
	}
	result.States, err = r.node.ReadStates(r.exact)
	return result, err
}

func (r *run) admitNew(ctx context.Context, manifest *v1.Pod, result *scenario.StepOutcome) error {
	pod, err := kubelet.AsServed(manifest)
	if err != nil {
		return err
	}
	result.Admission = r.admit(ctx, pod)
	if result.Admitted {
		r.node.StartContainers(ctx, pod)
	}
	return nil
}

// restart admits the active pods again while the pod sources are not ready.
// Pods of the order that this release has rejected before are not there.
func (r *run) restart(ctx context.Context, restart *scenario.Restart) (*scenario.RestartOutcome, error) {
	pods, err := r.node.Stop(ctx)
	if err != nil {
		return nil, err
	}
	if restart.Machine != nil {
		r.node.ReplaceMachine(*restart.Machine)
	}
	if restart.Config != nil {
		r.config = restart.Config
	}
	if err := r.node.WriteStateFiles(restart.StateFiles); err != nil {
		return nil, err
	}
	outcome := &scenario.RestartOutcome{}
	if outcome.StartFailure, err = r.start(ctx); err != nil || outcome.StartError != nil {
		return outcome, err
	}
	outcome.Readmitted = []scenario.Admission{}
	for _, uid := range restart.Order {
		at := slices.IndexFunc(pods, func(pod *v1.Pod) bool { return string(pod.UID) == uid })
		if at < 0 {
			continue
		}
		admission := r.admit(ctx, pods[at])
		admission.UID = uid
		outcome.Readmitted = append(outcome.Readmitted, *admission)
	}
	r.node.SourcesReady()
	return outcome, nil
}
