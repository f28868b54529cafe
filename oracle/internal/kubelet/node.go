// Package kubelet is a kubelet reduced to its resource managers: the topology,
// device, CPU and memory manager of the release of k8s.io/kubernetes that this
// module is built with, connected as the kubelet connects them.
//
// Files that end in _1_NN.go hold what a release changed in names, signatures
// or behaviour; the build tags since_1_NN choose among them.
package kubelet

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	pluginapi "k8s.io/kubelet/pkg/apis/deviceplugin/v1beta1"
	"k8s.io/kubernetes/pkg/kubelet/cm/containermap"
	"k8s.io/kubernetes/pkg/kubelet/cm/cpumanager"
	"k8s.io/kubernetes/pkg/kubelet/cm/devicemanager"
	"k8s.io/kubernetes/pkg/kubelet/cm/memorymanager"
	"k8s.io/kubernetes/pkg/kubelet/cm/topologymanager"
	"k8s.io/kubernetes/pkg/kubelet/lifecycle"

	"numalet/oracle/internal/scenario"
)

// StandardFolder is the kubelet's own folder. The device manager has it
// compiled in, so devices need this folder; see the package workers.
const StandardFolder = "/var/lib/kubelet"

// Node is one kubelet, over all its restarts.
type Node struct {
	dir              string
	machine          scenario.Machine
	devices          []scenario.DeviceResource
	hasDeviceManager bool

	// These are replaced at every start.
	scope     topologymanager.Scope
	merges    *mergeRecorder // nil under the topology policy none
	providers []string       // the names of the hint providers, in their order
	device    *devicemanager.ManagerImpl
	cpu       cpumanager.Manager
	memory    memorymanager.Manager
	ready     bool // whether the pod sources are

	active  []*v1.Pod
	running containermap.ContainerMap // what the container runtime would list
}

// New returns a node whose folder is empty.
func New(dir string, machine scenario.Machine, devices []scenario.DeviceResource) (*Node, error) {
	n := &Node{
		dir: dir, machine: machine, devices: devices,
		hasDeviceManager: dir == StandardFolder,
		running:          containermap.NewContainerMap(),
	}
	if len(devices) > 0 && !n.hasDeviceManager {
		return nil, fmt.Errorf("devices need a private %s: run as root", StandardFolder)
	}
	if err := os.RemoveAll(dir); err != nil {
		return nil, err
	}
	folder := dir
	if n.hasDeviceManager {
		folder = filepath.Clean(pluginapi.DevicePluginPath)
	}
	return n, os.MkdirAll(folder, 0o750)
}

// AddSource, AllReady and GetPodStatus make the node what the managers know of
// the rest of the kubelet: its pod sources, and its status manager, in which
// no pod has a status.
func (n *Node) AddSource(string) {}

// AllReady tells whether the managers may take missing pods for deleted ones.
func (n *Node) AllReady() bool { return n.ready }

// GetPodStatus returns no status for any pod.
func (n *Node) GetPodStatus(types.UID) (v1.PodStatus, bool) { return v1.PodStatus{}, false }

// SourcesReady ends the phase after a start in which stale state is kept.
func (n *Node) SourcesReady() { n.ready = true }

// ReplaceMachine changes the hardware for the next start.
func (n *Node) ReplaceMachine(machine scenario.Machine) { n.machine = machine }

// Scope is the name of the topology manager's scope.
func (n *Node) Scope() string { return n.scope.Name() }

func (n *Node) activePods() []*v1.Pod { return n.active }

// Stop ends what the managers run in the background, and forgets the active
// pods, which it returns. Their containers keep running.
func (n *Node) Stop(ctx context.Context) ([]*v1.Pod, error) {
	before := n.active
	n.active = nil
	if n.device == nil {
		return before, nil
	}
	err := n.stopDeviceManager(ctx)
	n.device = nil
	return before, err
}

// Admit lets the topology manager decide about a pod. The pod is active while
// this lasts, and stays so if it is admitted.
func (n *Node) Admit(ctx context.Context, pod *v1.Pod) lifecycle.PodAdmitResult {
	if n.merges != nil {
		n.merges.seen = nil
	}
	n.active = append(n.active, pod)
	result := admitByScope(ctx, n.scope, pod)
	if !result.Admit {
		n.active = n.active[:len(n.active)-1]
	}
	return result
}

// StartContainers starts all containers of an admitted pod. As in the kubelet,
// devices of containers that had none at admission are allocated now, and a
// container that cannot get them does not start.
func (n *Node) StartContainers(ctx context.Context, pod *v1.Pod) {
	for _, container := range Containers(pod) {
		if n.device != nil && n.prepareDevices(ctx, pod, container) != nil {
			continue
		}
		id := containerID(string(pod.UID), container.Name)
		n.addToManagers(ctx, pod, container, id)
		n.scope.AddContainer(pod, container, id)
		n.running.Add(string(pod.UID), container.Name, id)
	}
}

// Remove stops the containers of an active pod. As in the kubelet, the
// managers free what it had at the beginning of the next admission.
func (n *Node) Remove(ctx context.Context, uid string) error {
	at := slices.IndexFunc(n.active, func(pod *v1.Pod) bool { return string(pod.UID) == uid })
	if at < 0 {
		return nil
	}
	pod := n.active[at]
	n.active = slices.Delete(slices.Clone(n.active), at, at+1)
	for _, container := range Containers(pod) {
		id := containerID(uid, container.Name)
		if err := removeFromScope(ctx, n.scope, id); err != nil {
			return err
		}
		n.running.RemoveByContainerID(id)
	}
	return nil
}

func containerID(uid, container string) string { return uid + "/" + container }
