// Package scenario has the types of the recorded scenarios: the input that a
// kubelet is given, and the outcome that is recorded of it. The format is that
// of tests/conformance and of `numalet replay`.
package scenario

import (
	"encoding/json"

	v1 "k8s.io/api/core/v1"
)

// Scenario is the input. Members that only describe it, such as its tags, are
// not needed here: whoever writes a line keeps them.
type Scenario struct {
	Machine    Machine           `json:"machine"`
	Config     json.RawMessage   `json:"kubelet_config"`
	Devices    []DeviceResource  `json:"devices"`
	StateFiles map[string]string `json:"state_files"`
	RecordRaw  bool              `json:"record_raw"`
	Steps      []Step            `json:"steps"`
}

// Step has exactly one of its members. Remove is the uid of a pod.
type Step struct {
	Admit   *v1.Pod  `json:"admit"`
	Remove  *string  `json:"remove"`
	Restart *Restart `json:"restart"`
}

// Restart replaces what it names. Order has the uids of the pods that the new
// kubelet process sees, in the order in which it sees them.
type Restart struct {
	Order      []string          `json:"order"`
	Config     json.RawMessage   `json:"kubelet_config"`
	Machine    *Machine          `json:"machine"`
	StateFiles map[string]string `json:"state_files"`
}

// Machine is the hardware that cAdvisor would report.
type Machine struct {
	NUMANodes []NUMANode `json:"numa_nodes"`
}

// NUMANode may lack cores, memory or distances. Memory includes huge pages.
type NUMANode struct {
	ID          int         `json:"id"`
	MemoryBytes uint64      `json:"memory_bytes"`
	HugePages   []HugePages `json:"hugepages"`
	Distances   []uint64    `json:"distances"`
	Cores       []Core      `json:"cores"`
}

// HugePages is the number of preallocated pages of one size.
type HugePages struct {
	PageSizeKiB uint64 `json:"page_size_kib"`
	Count       uint64 `json:"count"`
}

// Core is a physical core; its id may repeat on another socket.
type Core struct {
	ID          int   `json:"id"`
	Socket      int   `json:"socket"`
	Threads     []int `json:"threads"`
	UncoreCache *int  `json:"uncore_cache"`
}

// DeviceResource is what one device plugin registers; all devices are healthy.
type DeviceResource struct {
	Resource string   `json:"resource"`
	Devices  []Device `json:"devices"`
}

// Device is one device; without NUMANodes it has no topology.
type Device struct {
	ID        string  `json:"id"`
	NUMANodes []int64 `json:"numa_nodes"`
}
