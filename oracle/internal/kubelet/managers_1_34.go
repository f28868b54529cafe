//go:build !since_1_35

package kubelet

import (
	"context"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	pluginapi "k8s.io/kubelet/pkg/apis/deviceplugin/v1beta1"
	"k8s.io/kubernetes/pkg/kubelet/cm/containermap"
	"k8s.io/kubernetes/pkg/kubelet/cm/cpumanager"
	"k8s.io/kubernetes/pkg/kubelet/cm/cpumanager/topology"
	"k8s.io/kubernetes/pkg/kubelet/cm/devicemanager"
	"k8s.io/kubernetes/pkg/kubelet/cm/memorymanager"
)

// In 1.34 most of these functions have neither a context nor a logger.

func discoverCPUs(_ context.Context, info *machineInfo) (*topology.CPUTopology, error) {
	return topology.Discover(info)
}

func (n *Node) newCPUManager(_ context.Context, p parts) (cpumanager.Manager, error) {
	return cpumanager.NewManager(p.config.CPUManagerPolicy, p.config.CPUManagerPolicyOptions, neverAgain,
		p.info, p.reservedCPUs, p.reserved, n.dir, n.scope)
}

func (n *Node) newMemoryManager(ctx context.Context, p parts) (memorymanager.Manager, error) {
	return memorymanager.NewManager(ctx, p.config.MemoryManagerPolicy, p.info, p.reserved,
		p.config.ReservedMemory, n.dir, n.scope)
}

func (n *Node) newDeviceManager(_ context.Context, p parts) (*devicemanager.ManagerImpl, error) {
	return devicemanager.NewManagerImpl(p.info.Topology, n.scope)
}

func (n *Node) startCPUManager(_ context.Context, activePods func() []*v1.Pod, running containermap.ContainerMap) error {
	return n.cpu.Start(activePods, n, n, nil, running)
}

func (n *Node) startDeviceManager(_ context.Context, running containermap.ContainerMap, ids sets.Set[string]) error {
	return n.device.Start(n.activePods, n, running, ids)
}

func (n *Node) stopDeviceManager(context.Context) error { return n.device.Stop() }

func (n *Node) register(_ context.Context, p plugin, list *pluginapi.ListAndWatchResponse) error {
	if err := n.device.PluginConnected(p.resource, p); err != nil {
		return err
	}
	n.device.PluginListAndWatchReceiver(p.resource, list)
	return nil
}

func (n *Node) prepareDevices(_ context.Context, pod *v1.Pod, container *v1.Container) error {
	_, err := n.device.GetDeviceRunContainerOptions(pod, container)
	return err
}

func (n *Node) addToManagers(ctx context.Context, pod *v1.Pod, container *v1.Container, id string) {
	n.cpu.AddContainer(pod, container, id)
	n.memory.AddContainer(ctx, pod, container, id)
}
