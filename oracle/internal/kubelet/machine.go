package kubelet

import (
	"numalet/oracle/internal/scenario"
)

// machineInfoOf returns the structure that cAdvisor would fill in on this
// machine. The totals are the sums over the NUMA nodes.
func machineInfoOf(machine scenario.Machine) *machineInfo {
	info := &machineInfo{}
	sockets := map[int]struct{}{}
	for _, node := range machine.NUMANodes {
		info.MemoryCapacity += node.MemoryBytes
		info.Topology = append(info.Topology, numaNodeOf(node))
		for _, pages := range node.HugePages {
			addHugePages(info, pages)
		}
		for _, core := range node.Cores {
			sockets[core.Socket] = struct{}{}
			info.NumPhysicalCores++
			info.NumCores += len(core.Threads)
		}
	}
	info.NumSockets = len(sockets)
	return info
}

func numaNodeOf(node scenario.NUMANode) numaNode {
	converted := numaNode{Id: node.ID, Memory: node.MemoryBytes, Distances: node.Distances}
	for _, pages := range node.HugePages {
		converted.HugePages = append(converted.HugePages,
			hugePagesInfo{PageSize: pages.PageSizeKiB, NumPages: pages.Count})
	}
	for _, core := range node.Cores {
		c := cpuCore{Id: core.ID, SocketID: core.Socket, Threads: core.Threads}
		if core.UncoreCache != nil {
			c.UncoreCaches = []cpuCache{{Id: *core.UncoreCache, Level: 3}}
		}
		converted.Cores = append(converted.Cores, c)
	}
	return converted
}

// addHugePages adds the pages of one NUMA node to the machine's total of this size.
func addHugePages(info *machineInfo, pages scenario.HugePages) {
	for i := range info.HugePages {
		if info.HugePages[i].PageSize == pages.PageSizeKiB {
			info.HugePages[i].NumPages += pages.Count
			return
		}
	}
	info.HugePages = append(info.HugePages,
		hugePagesInfo{PageSize: pages.PageSizeKiB, NumPages: pages.Count})
}
