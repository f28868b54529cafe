//go:build since_1_35 && !since_1_37

package kubelet

import (
	"context"

	"k8s.io/kubernetes/pkg/kubelet/cm/devicemanager"
)

func (n *Node) newDeviceManager(_ context.Context, p parts) (*devicemanager.ManagerImpl, error) {
	return devicemanager.NewManagerImpl(p.info.Topology, n.scope)
}
