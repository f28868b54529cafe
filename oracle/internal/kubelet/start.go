package kubelet

import (
	"context"
	"fmt"
	"runtime"
	"sync"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	kubeletconfig "k8s.io/kubernetes/pkg/kubelet/apis/config"
	"k8s.io/kubernetes/pkg/kubelet/cm/cpumanager"
	"k8s.io/kubernetes/pkg/kubelet/cm/topologymanager"
)

// The names of the hint providers in the scenario format.
const (
	deviceProvider = "device"
	cpuProvider    = "cpu"
	memoryProvider = "memory"
)

// neverAgain is the period of the CPU manager's reconciliation: longer than
// any scenario. The first round is ended in startCPU.
const neverAgain = 24 * time.Hour

// parts are what the constructors of the managers need.
type parts struct {
	*settings
	info     *machineInfo
	capacity v1.ResourceList
	reserved v1.ResourceList
}

// Start builds and starts new managers over the state files that are there, in
// the order of the kubelet's container manager. An error is a *Failure if the
// kubelet would stop with it. The pod sources are not ready afterwards.
func (n *Node) Start(ctx context.Context, config []byte) error {
	n.ready = false
	info := machineInfoOf(n.machine)
	s, err := readSettings(ctx, config, info)
	if err != nil {
		return err
	}
	p := parts{settings: s, info: info, capacity: capacityOf(info)}
	p.reserved = s.reservation(p.capacity)
	if err := n.build(ctx, p); err != nil {
		return err
	}
	if err := n.startCPU(ctx, s.config.CPUManagerPolicy); err != nil {
		return failure("cpu-manager-start", fmt.Errorf("start cpu manager error: %w", err))
	}
	if err := n.memory.Start(ctx, n.activePods, n, n, nil, n.running.Clone()); err != nil {
		return failure("memory-manager-start", fmt.Errorf("start memory manager error: %w", err))
	}
	if err := checkAllocatable(p.reserved, p.capacity); err != nil {
		return failure("node-allocatable", err)
	}
	return n.startDevices(ctx)
}

// build makes the managers. They are hint providers in the order in which they
// are made, as in NewContainerManager of pkg/kubelet/cm.
func (n *Node) build(ctx context.Context, p parts) (err error) {
	n.providers = nil
	if err := n.buildTopology(ctx, p); err != nil {
		return failure("topology-manager", err)
	}
	if n.hasDeviceManager {
		if n.device, err = n.newDeviceManager(ctx, p); err != nil {
			return fmt.Errorf("device manager: %w", err)
		}
		n.provide(ctx, deviceProvider, n.device)
	}
	if n.cpu, err = n.newCPUManager(ctx, p); err != nil {
		return failure("cpu-manager", err)
	}
	n.provide(ctx, cpuProvider, n.cpu)
	if n.memory, err = n.newMemoryManager(ctx, p); err != nil {
		return failure("memory-manager", err)
	}
	n.provide(ctx, memoryProvider, n.memory)
	return nil
}

func (n *Node) provide(ctx context.Context, name string, provider topologymanager.HintProvider) {
	n.providers = append(n.providers, name)
	addProvider(ctx, n.scope, provider)
}

// buildTopology takes the policy from the topology manager, whose constructor
// validates names and options, and puts it behind a recorder into a scope of
// the same kind. The manager adds nothing else to its scope.
func (n *Node) buildTopology(ctx context.Context, p parts) error {
	manager, err := newTopologyManager(ctx, p.info.Topology, p.settings)
	if err != nil {
		return err
	}
	if p.config.TopologyManagerPolicy == topologymanager.PolicyNone {
		n.merges, n.scope = nil, topologymanager.NewNoneScope()
		return nil
	}
	n.merges = &mergeRecorder{Policy: manager.GetPolicy()}
	if p.config.TopologyManagerScope == kubeletconfig.PodTopologyManagerScope {
		n.scope = topologymanager.NewPodScope(n.merges)
	} else {
		n.scope = topologymanager.NewContainerScope(n.merges)
	}
	return nil
}

// startCPU starts the CPU manager without its reconciliation, which is no part
// of a scenario: it would free the CPUs of removed pods at some moment. The
// static policy runs it in a goroutine that nothing can stop. Its first call
// to the outside, while the pod sources are not ready, is for the active pods;
// there the goroutine ends itself, and the start waits until it has.
func (n *Node) startCPU(ctx context.Context, policy string) error {
	ended := make(chan struct{})
	var once sync.Once
	endFirstCaller := func() []*v1.Pod {
		once.Do(func() {
			close(ended)
			runtime.Goexit()
		})
		return n.active
	}
	if policy == string(cpumanager.PolicyNone) {
		return n.startCPUManager(ctx, n.activePods, n.running.Clone())
	}
	if err := n.startCPUManager(ctx, endFirstCaller, n.running.Clone()); err != nil {
		return err
	}
	<-ended
	return nil
}

func (n *Node) startDevices(ctx context.Context) error {
	if !n.hasDeviceManager {
		return nil
	}
	ids := sets.New[string]()
	n.running.Visit(func(_, _, id string) { ids.Insert(id) })
	if err := n.startDeviceManager(ctx, n.running.Clone(), ids); err != nil {
		return fmt.Errorf("device manager: %w", err)
	}
	for _, resource := range n.devices {
		if err := n.register(ctx, plugin{resource: resource.Resource}, deviceList(resource)); err != nil {
			return fmt.Errorf("device plugin %s: %w", resource.Resource, err)
		}
	}
	return nil
}
