package kubelet

import (
	"context"

	"google.golang.org/grpc"
	pluginapi "k8s.io/kubelet/pkg/apis/deviceplugin/v1beta1"

	"numalet/oracle/internal/scenario"
)

// plugin is a device plugin in this process. It has the methods of the device
// manager's connection to a plugin and of the gRPC client behind it, so that
// no socket and no second process is needed.
type plugin struct {
	pluginapi.DevicePluginClient // nil: methods that are not overridden are never called
	resource                     string
}

func (p plugin) API() pluginapi.DevicePluginClient { return p }
func (p plugin) Resource() string                  { return p.resource }
func (p plugin) SocketPath() string                { return pluginapi.DevicePluginPath + "oracle.sock" }

func (plugin) GetDevicePluginOptions(
	context.Context, *pluginapi.Empty, ...grpc.CallOption,
) (*pluginapi.DevicePluginOptions, error) {
	return &pluginapi.DevicePluginOptions{}, nil
}

func (plugin) Allocate(
	_ context.Context, request *pluginapi.AllocateRequest, _ ...grpc.CallOption,
) (*pluginapi.AllocateResponse, error) {
	response := &pluginapi.AllocateResponse{}
	for range request.ContainerRequests {
		response.ContainerResponses = append(response.ContainerResponses, &pluginapi.ContainerAllocateResponse{})
	}
	return response, nil
}

// deviceList is the message in which a plugin lists its devices.
func deviceList(resource scenario.DeviceResource) *pluginapi.ListAndWatchResponse {
	list := &pluginapi.ListAndWatchResponse{}
	for _, device := range resource.Devices {
		listed := &pluginapi.Device{ID: device.ID, Health: pluginapi.Healthy}
		if len(device.NUMANodes) > 0 {
			listed.Topology = &pluginapi.TopologyInfo{}
		}
		for _, id := range device.NUMANodes {
			listed.Topology.Nodes = append(listed.Topology.Nodes, &pluginapi.NUMANode{ID: id})
		}
		list.Devices = append(list.Devices, listed)
	}
	return list
}
