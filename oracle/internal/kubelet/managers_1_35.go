//go:build since_1_35

package kubelet

import (
	"context"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/klog/v2"
	pluginapi "k8s.io/kubelet/pkg/apis/deviceplugin/v1beta1"
	"k8s.io/kubernetes/pkg/kubelet/cm/containermap"
	"k8s.io/kubernetes/pkg/kubelet/cm/cpumanager"
	"k8s.io/kubernetes/pkg/kubelet/cm/cpumanager/topology"
	"k8s.io/kubernetes/pkg/kubelet/cm/memorymanager"
)

func discoverCPUs(ctx context.Context, info *machineInfo) (*topology.CPUTopology, error) {
	return topology.Discover(klog.FromContext(ctx), info)
}

func (n *Node) newCPUManager(ctx context.Context, p parts) (cpumanager.Manager, error) {
	return cpumanager.NewManager(klog.FromContext(ctx), p.config.CPUManagerPolicy, p.config.CPUManagerPolicyOptions,
		neverAgain, p.info, p.reservedCPUs, p.reserved, n.dir, n.scope)
}

func (n *Node) newMemoryManager(ctx context.Context, p parts) (memorymanager.Manager, error) {
	return memorymanager.NewManager(klog.FromContext(ctx), p.config.MemoryManagerPolicy, p.info, p.reserved,
		p.config.ReservedMemory, n.dir, n.scope)
}

func (n *Node) startCPUManager(ctx context.Context, activePods func() []*v1.Pod, running containermap.ContainerMap) error {
	return n.cpu.Start(ctx, activePods, n, n, nil, running)
}

func (n *Node) startDeviceManager(ctx context.Context, running containermap.ContainerMap, ids sets.Set[string]) error {
	return n.device.Start(klog.FromContext(ctx), n.activePods, n, running, ids)
}

func (n *Node) stopDeviceManager(ctx context.Context) error {
	return n.device.Stop(klog.FromContext(ctx))
}

func (n *Node) register(ctx context.Context, p plugin, list *pluginapi.ListAndWatchResponse) error {
	if err := n.device.PluginConnected(ctx, p.resource, p); err != nil {
		return err
	}
	n.device.PluginListAndWatchReceiver(klog.FromContext(ctx), p.resource, list)
	return nil
}

func (n *Node) prepareDevices(ctx context.Context, pod *v1.Pod, container *v1.Container) error {
	_, err := n.device.GetDeviceRunContainerOptions(ctx, pod, container)
	return err
}

func (n *Node) addToManagers(ctx context.Context, pod *v1.Pod, container *v1.Container, id string) {
	n.cpu.AddContainer(klog.FromContext(ctx), pod, container, id)
	n.memory.AddContainer(klog.FromContext(ctx), pod, container, id)
}
