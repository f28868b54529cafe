//go:build since_1_37

package kubelet

import (
	cadvisorapi "github.com/google/cadvisor/lib/model"
)

// Since 1.37 the managers read the hardware from the module cadvisor/lib.
type (
	machineInfo   = cadvisorapi.MachineInfo
	numaNode      = cadvisorapi.Node
	cpuCore       = cadvisorapi.Core
	cpuCache      = cadvisorapi.Cache
	hugePagesInfo = cadvisorapi.HugePagesInfo
)
