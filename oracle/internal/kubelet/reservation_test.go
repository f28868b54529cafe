package kubelet

import (
	"testing"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"numalet/oracle/internal/scenario"
)

func TestTotalsOfAMachineAreSumsOverItsNodes(t *testing.T) {
	pages := []scenario.HugePages{{PageSizeKiB: 2048, Count: 3}}
	info := machineInfoOf(scenario.Machine{NUMANodes: []scenario.NUMANode{
		{ID: 0, MemoryBytes: 100, HugePages: pages, Cores: []scenario.Core{{Socket: 0, Threads: []int{0, 1}}}},
		{ID: 4, MemoryBytes: 50, HugePages: pages, Cores: []scenario.Core{{Socket: 7, Threads: []int{2}}}},
	}})
	if info.MemoryCapacity != 150 || info.NumCores != 3 || info.NumPhysicalCores != 2 || info.NumSockets != 2 {
		t.Errorf("got %d bytes, %d CPUs, %d cores, %d sockets",
			info.MemoryCapacity, info.NumCores, info.NumPhysicalCores, info.NumSockets)
	}
	if len(info.HugePages) != 1 || info.HugePages[0].NumPages != 6 {
		t.Errorf("got huge pages %v", info.HugePages)
	}
}

func TestReservationsAreAddedUp(t *testing.T) {
	s := &settings{
		kubeReserved:   v1.ResourceList{v1.ResourceMemory: resource.MustParse("1Gi")},
		systemReserved: v1.ResourceList{v1.ResourceMemory: resource.MustParse("1Gi")},
	}
	capacity := v1.ResourceList{v1.ResourceMemory: resource.MustParse("2Gi"), v1.ResourceCPU: resource.MustParse("4")}
	reserved := s.reservation(capacity)
	if memory := reserved[v1.ResourceMemory]; memory.String() != "2Gi" {
		t.Errorf("got %s", memory.String())
	}
	if _, ok := reserved[v1.ResourceCPU]; ok {
		t.Error("a reservation of nothing is listed")
	}
	if err := checkAllocatable(reserved, capacity); err != nil {
		t.Errorf("all is reserved, and that is refused: %v", err)
	}
	capacity[v1.ResourceMemory] = resource.MustParse("1Gi")
	if checkAllocatable(reserved, capacity) == nil {
		t.Error("more is reserved than there is, and that is not refused")
	}
}

func TestOnlySomeResourcesCanBeReserved(t *testing.T) {
	if _, err := parseReservation(map[string]string{"pods": "1"}); err == nil {
		t.Error("got no error")
	}
}
