package kubelet

import (
	"cmp"
	"context"
	"slices"
	"strconv"
	"strings"

	v1 "k8s.io/api/core/v1"

	"numalet/oracle/internal/scenario"
)

// Affinity returns the hint by which the managers allocate for a container;
// ok is false if the topology manager has stored none.
func (n *Node) Affinity(ctx context.Context, pod *v1.Pod, container string) (hint scenario.Hint, ok bool) {
	stored := storedAffinity(ctx, n.scope, string(pod.UID), container)
	return hintOf(stored), stored.NUMANodeAffinity != nil || stored.Preferred
}

// CPUs returns the CPUs that the CPU manager assigned to a container.
func (n *Node) CPUs(pod *v1.Pod, container string) (text string, ok bool) {
	cpus, ok := n.cpu.State().GetCPUSet(string(pod.UID), container)
	return cpus.String(), ok
}

// Memory returns the memory of a container, sorted by type: the kubelet's own
// order is that of a map.
func (n *Node) Memory(pod *v1.Pod, container string) []scenario.MemoryBlock {
	var blocks []scenario.MemoryBlock
	for _, block := range n.memory.State().GetMemoryBlocks(string(pod.UID), container) {
		blocks = append(blocks, scenario.MemoryBlock{
			NUMAAffinity: block.NUMAAffinity, Size: block.Size, Type: string(block.Type),
		})
	}
	slices.SortStableFunc(blocks, func(a, b scenario.MemoryBlock) int { return cmp.Compare(a.Type, b.Type) })
	return blocks
}

// Devices returns the ids of a container's devices by resource, and how many
// of them are on which NUMA nodes.
func (n *Node) Devices(pod *v1.Pod, container string) (ids map[string][]string, onNodes map[string]map[string]int) {
	if n.device == nil {
		return nil, nil
	}
	ids, onNodes = map[string][]string{}, map[string]map[string]int{}
	for resource, devices := range n.device.GetDevices(string(pod.UID), container) {
		for id := range devices {
			if onNodes[resource] == nil {
				onNodes[resource] = map[string]int{}
			}
			ids[resource] = append(ids[resource], id)
			onNodes[resource][n.nodesOf(resource, id)]++
		}
		slices.Sort(ids[resource])
	}
	return ids, onNodes
}

// nodesOf names the NUMA nodes of a device as the scenario format does: "0,1".
func (n *Node) nodesOf(resource, id string) string {
	for _, plugin := range n.devices {
		if plugin.Resource != resource {
			continue
		}
		for _, device := range plugin.Devices {
			if device.ID == id {
				return joined(device.NUMANodes)
			}
		}
	}
	return ""
}

func joined(numbers []int64) string {
	var texts []string
	for _, number := range slices.Sorted(slices.Values(numbers)) {
		texts = append(texts, strconv.FormatInt(number, 10))
	}
	return strings.Join(texts, ",")
}
