package vectors

import (
	"context"
	"fmt"

	"numalet/oracle/internal/recorder"
)

// Runs says how often a scenario is run. Where the kubelet iterates over a map,
// chance decides; several runs show it. It decides most about devices, and about
// which of several errors of a configuration is reported.
type Runs struct {
	Plain    int
	Devices  int
	Failures int
}

// Recorder records lines.
type Recorder struct {
	Release   string
	Runs      Runs
	KeepMarks bool // whether fields that the input marks as chance stay marked
}

// Line runs a scenario in a folder and returns its line with the outcome of this
// release. An error means that the scenario cannot be recorded, for example since
// its outcome varies.
func (r Recorder) Line(ctx context.Context, folder string, line []byte) ([]byte, error) {
	tree, err := decode(line)
	if err != nil {
		return nil, err
	}
	scenario, ok := tree.(object)
	if !ok {
		return nil, fmt.Errorf("a line is not a JSON object")
	}
	outcomes, err := r.outcomes(ctx, scenario, folder, line)
	if err != nil {
		return nil, err
	}
	if r.KeepMarks {
		copyMarks(scenario["expect"], outcomes[0])
	}
	outcome, err := agreed(outcomes)
	if err != nil {
		return nil, err
	}
	fixOrders(scenario, outcome)
	scenario["expect"], scenario["release"] = outcome, r.Release
	return Encode(scenario)
}

func (r Recorder) outcomes(
	ctx context.Context, scenario object, folder string, line []byte,
) ([]any, error) {
	wanted := r.Runs.Plain
	if len(list(scenario, "devices")) > 0 {
		wanted = r.Runs.Devices
	}
	var outcomes []any
	for len(outcomes) < wanted {
		recorded, err := recorder.Record(ctx, folder, line)
		if err != nil {
			return nil, err
		}
		outcome, err := treeOf(recorded)
		if err != nil {
			return nil, err
		}
		outcomes = append(outcomes, outcome)
		if failsToStart(outcome) {
			wanted = max(wanted, r.Runs.Failures)
		}
	}
	return outcomes, nil
}

func failsToStart(outcome any) bool {
	if member(outcome, "start_error") != nil {
		return true
	}
	for _, step := range list(outcome, "steps") {
		if member(step, "start_error") != nil {
			return true
		}
	}
	return false
}

// fixOrders removes pods that this release rejected from the orders of later
// restarts. The orders were written for a release that admitted them.
func fixOrders(scenario object, outcome any) {
	const tag = "order-fixed"
	results := list(outcome, "steps")
	for i, step := range list(scenario, "steps") {
		restart, isRestart := member(step, "restart").(object)
		if !isRestart || i >= len(results) || member(results[i], "readmitted") == nil {
			continue
		}
		seen := []any{}
		for _, pod := range list(results[i], "readmitted") {
			seen = append(seen, member(pod, "uid"))
		}
		if len(seen) == len(list(restart, "order")) {
			continue
		}
		restart["order"] = seen
		if tags := list(scenario, "tags"); !contains(tags, tag) {
			scenario["tags"] = append(tags, tag)
		}
	}
}
