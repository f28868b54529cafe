//go:build since_1_36

package kubelet

import "k8s.io/kubernetes/pkg/kubelet/cm/memorymanager/state"

// podBlocks lists the blocks of whole pods, which 1.36 added.
func podBlocks(pods state.PodMemoryAssignments) [][]state.Block {
	var lists [][]state.Block
	for _, pod := range pods {
		lists = append(lists, pod.MemoryBlocks)
	}
	return lists
}
