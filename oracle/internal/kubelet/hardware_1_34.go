//go:build !since_1_37

package kubelet

import (
	cadvisorapi "github.com/google/cadvisor/info/v1"
)

// Until 1.36 the managers read the hardware from cAdvisor's own API package.
type (
	machineInfo   = cadvisorapi.MachineInfo
	numaNode      = cadvisorapi.Node
	cpuCore       = cadvisorapi.Core
	cpuCache      = cadvisorapi.Cache
	hugePagesInfo = cadvisorapi.HugePagesInfo
)
