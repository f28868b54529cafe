package scenario

import "encoding/json"

// Outcome is the member `expect` of a recorded scenario.
type Outcome struct {
	StartFailure
	InitialMemoryState    json.RawMessage `json:"initial_memory_state,omitempty"`
	InitialCPUState       json.RawMessage `json:"initial_cpu_state,omitempty"`
	InitialMemoryStateRaw *string         `json:"initial_memory_state_raw,omitempty"`
	InitialCPUStateRaw    *string         `json:"initial_cpu_state_raw,omitempty"`
	Steps                 []StepOutcome   `json:"steps"`
}

// StartFailure is the error that stops the kubelet, and where it comes from.
// StartError is null in a start that succeeds.
type StartFailure struct {
	StartError      *string `json:"start_error"`
	StartErrorStage string  `json:"start_error_stage,omitempty"`
}

// StepOutcome is an admission, a restart, or a removal, which has only states.
type StepOutcome struct {
	*Admission
	*RestartOutcome
	States
}

// RestartOutcome has a failure or the pods that were admitted again.
type RestartOutcome struct {
	StartFailure
	Readmitted []Admission `json:"readmitted,omitzero"`
}

// Admission is the answer for one pod. Hints, Merged and Affinity are missing
// under the topology policy none, the other maps if the pod was rejected. The
// key of a map is the name of a container, or "pod" for a merge of pod scope.
type Admission struct {
	UID           string                               `json:"uid,omitempty"`
	Admitted      bool                                 `json:"admitted"`
	Reason        string                               `json:"reason"`
	Message       string                               `json:"message"`
	Hints         map[string]ProviderHints             `json:"hints,omitzero"`
	Merged        map[string]MergedHint                `json:"merged,omitzero"`
	Affinity      map[string]Hint                      `json:"affinity,omitzero"`
	CPUSet        map[string]string                    `json:"cpuset,omitzero"`
	Memory        map[string][]MemoryBlock             `json:"memory,omitzero"`
	Devices       map[string]map[string][]string       `json:"devices,omitzero"`
	DevicesByNUMA map[string]map[string]map[string]int `json:"devices_by_numa,omitzero"`
}

// ProviderHints are the hints by provider and resource. A nil list means that
// the resource fits anywhere, an empty one that it fits nowhere.
type ProviderHints map[string]map[string][]Hint

// Hint is a set of NUMA nodes; nil means any.
type Hint struct {
	Nodes     []int `json:"nodes"`
	Preferred bool  `json:"preferred"`
}

// MergedHint is the policy's choice and whether the policy lets it pass.
type MergedHint struct {
	Hint
	Admit bool `json:"admit"`
}

// MemoryBlock is memory of one type on one group of NUMA nodes.
type MemoryBlock struct {
	NUMAAffinity []int  `json:"numa_affinity"`
	Size         uint64 `json:"size"`
	Type         string `json:"type"`
}

// States are the state files at the end of a step. MemoryStateBlocks is
// "sorted" if the recorder sorted the blocks of a container.
type States struct {
	MemoryState       json.RawMessage `json:"memory_state,omitempty"`
	CPUState          json.RawMessage `json:"cpu_state,omitempty"`
	MemoryStateBlocks string          `json:"memory_state_blocks,omitempty"`
	MemoryStateRaw    *string         `json:"memory_state_raw,omitempty"`
	CPUStateRaw       *string         `json:"cpu_state_raw,omitempty"`
}
