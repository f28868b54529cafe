//go:build !since_1_36

package kubelet

import (
	"k8s.io/kubernetes/pkg/kubelet/checkpointmanager"
	"k8s.io/kubernetes/pkg/kubelet/cm/memorymanager/state"
)

// newMemoryCheckpoint returns the type that the memory manager writes, and a
// function that lists the lists of blocks in it.
func newMemoryCheckpoint() (checkpointmanager.Checkpoint, func() [][]state.Block) {
	checkpoint := state.NewMemoryManagerCheckpoint()
	return checkpoint, func() [][]state.Block { return containerBlocks(checkpoint.Entries) }
}
