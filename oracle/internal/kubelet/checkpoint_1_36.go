//go:build since_1_36 && !since_1_37

package kubelet

import (
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	"k8s.io/kubernetes/pkg/features"
	"k8s.io/kubernetes/pkg/kubelet/checkpointmanager"
	"k8s.io/kubernetes/pkg/kubelet/cm/memorymanager/state"
)

// newMemoryCheckpoint returns the type that the memory manager writes, and a
// function that lists the lists of blocks in it. In 1.36 the gate decides
// between the format of before and the one that has podEntries.
func newMemoryCheckpoint() (checkpointmanager.Checkpoint, func() [][]state.Block) {
	if !utilfeature.DefaultFeatureGate.Enabled(features.PodLevelResourceManagers) {
		checkpoint := &state.MemoryManagerCheckpointV1{
			MachineState: state.NUMANodeMap{},
			Entries:      state.ContainerMemoryAssignments{},
		}
		return checkpoint, func() [][]state.Block { return containerBlocks(checkpoint.Entries) }
	}
	checkpoint := &state.MemoryManagerCheckpointV2{
		MachineState: state.NUMANodeMap{},
		Entries:      state.ContainerMemoryAssignments{},
		PodEntries:   state.PodMemoryAssignments{},
	}
	return checkpoint, func() [][]state.Block {
		return append(containerBlocks(checkpoint.Entries), podBlocks(checkpoint.PodEntries)...)
	}
}
