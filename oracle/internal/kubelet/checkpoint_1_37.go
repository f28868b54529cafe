//go:build since_1_37

package kubelet

import (
	"k8s.io/kubernetes/pkg/kubelet/checkpointmanager"
	"k8s.io/kubernetes/pkg/kubelet/cm/memorymanager/state"
)

// newMemoryCheckpoint returns the type that the memory manager writes, and a
// function that lists the lists of blocks in it. Since 1.37 the member data
// holds everything; the other members are written from it.
func newMemoryCheckpoint() (checkpointmanager.Checkpoint, func() [][]state.Block) {
	checkpoint := &state.MemoryManagerCheckpointV3{}
	checkpoint.CheckpointData.MachineState = state.NUMANodeMap{}
	checkpoint.CheckpointData.Entries = state.ContainerMemoryAssignments{}
	checkpoint.CheckpointData.PodEntries = state.PodMemoryAssignments{}
	return checkpoint, func() [][]state.Block {
		data := &checkpoint.CheckpointData
		return append(containerBlocks(data.Entries), podBlocks(data.PodEntries)...)
	}
}
