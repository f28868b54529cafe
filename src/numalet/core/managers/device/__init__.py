"""The Device Manager: devices of plugins, as close together as the affinity asks for.

*Inventory.* A plugin registers a resource (``example.com/gpu``) and reports its devices: id,
health, the NUMA nodes it is attached to, which may be one, several, or none at all. Every report
replaces the one before it. A plugin that goes away leaves its devices unhealthy; five minutes
later the resource is gone, but what was last reported stays known (``inventory``,
``registration``).

*Ledger.* Who holds which devices: a record for each container and resource, with the NUMA nodes
of that moment and what the plugin answered. Beside it stands the table of devices in use. It is
a table of its own because an allocation that fails half-way can leave devices in it that
no record names (``ledger``).

*Hints.* Only resources of which some device is attached to a NUMA node have an opinion. A set
of nodes is offered if enough free devices touch it; a device of two nodes touches every set that
holds one of them, and a device of no node touches none. Preferred are sets as small as the
smallest that all devices, free or not, would need (``hints``).

*Choice.* Devices that the pod may use again come first, then devices inside the affinity, then
the others, then those without a node. Inside one group the kubelet takes what its map yields
first, which differs from run to run; here ids are taken in their order as text, gpu10 before
gpu2, one of the orders in which the kubelet's decisions were recorded (``choice``).

*The plugin's preference.* A plugin may prefer certain devices, and may veto the allocation. It is
asked through a small port whose default prefers nothing and accepts everything (``preference``).

*Reuse.* Devices of an init container may be used again by later containers of the pod; sidecars
and app containers use them up (``init_reuse``).

*Restart.* Records come back from the checkpoint, plugins have to register anew. Until every
source of pods is ready, a container that was already running is admitted without a check.

Deliberately absent: policies and options (the kubelet has none here), time (who ends the grace
period says so), calls to plugins, and the second chance of a container that starts without a
record, which needs a plugin that registers between admission and start.
Kubelet: ``pkg/kubelet/cm/devicemanager``, v1.32.
"""
