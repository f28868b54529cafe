//go:build since_1_37

package kubelet

import (
	"context"

	"k8s.io/klog/v2"
	"k8s.io/kubernetes/pkg/kubelet/cm/devicemanager"
)

// Since 1.37 the constructor of the device manager has a logger too.
func (n *Node) newDeviceManager(ctx context.Context, p parts) (*devicemanager.ManagerImpl, error) {
	return devicemanager.NewManagerImpl(klog.FromContext(ctx), p.info.Topology, n.scope)
}
