"""The command-line flags of every kubelet release.

``packaging/kubelet-flags/generate`` makes the table; ``table.py`` in that folder describes its
words.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache
from types import MappingProxyType
from typing import Final

from numalet.core.model.value import Value

_SWITCHES: Final = ("bool", "version")
_SHORTHANDS: Final = {"v": "v", "help": "h"}
_TABLE: Final = """
address:ip:0.0.0.0 allowed-unsafe-sysctls:stringSlice:[] anonymous-auth:bool:true
1.32-1.36!application-metrics-count-limit:int:100 authentication-token-webhook:bool:false
authentication-token-webhook-cache-ttl:duration:2m0s authorization-mode:string:AlwaysAllow
authorization-webhook-cache-authorized-ttl:duration:5m0s
authorization-webhook-cache-unauthorized-ttl:duration:30s
1.32-1.36!boot-id-file:string:/proc/sys/kernel/random/boot_id bootstrap-kubeconfig:string:
cert-dir:string:/var/lib/kubelet/pki cgroup-driver:string:cgroupfs cgroup-root:string:
cgroups-per-qos:bool:true client-ca-file:string: 1.32-1.33!cloud-config:string:
cloud-provider:string: cluster-dns:stringSlice:[] cluster-domain:string: config:string:
config-dir:string: 1.32-1.36!container-hints:string:/etc/cadvisor/container_hints.json
container-log-max-files:int32:5 container-log-max-size:string:10Mi
container-runtime-endpoint:string:unix:///run/containerd/containerd.sock
1.32-1.36!containerd:string:/run/containerd/containerd.sock
1.32-1.36!containerd-namespace:string:k8s.io contention-profiling:bool:false
cpu-cfs-quota:bool:true cpu-cfs-quota-period:duration:100ms cpu-manager-policy:string:none
cpu-manager-policy-options:mapStringString: cpu-manager-reconcile-period:duration:10s
enable-controller-attach-detach:bool:true enable-debugging-handlers:bool:true
1.32-1.36!enable-load-reader:bool:false enable-server:bool:true
enforce-node-allocatable:stringSlice:[pods] event-burst:int32:100 event-qps:int32:50
1.32-1.36!event-storage-age-limit:string:default=24h
1.32-1.36!event-storage-event-limit:string:default=100000 eviction-hard:mapStringString:
eviction-max-pod-grace-period:int32:0 eviction-minimum-reclaim:mapStringString:
eviction-pressure-transition-period:duration:5m0s eviction-soft:mapStringString:
eviction-soft-grace-period:mapStringString: exit-on-lock-contention:bool:false
experimental-allocatable-ignore-eviction:bool:false experimental-mounter-path:string:
fail-cgroupv1:bool:false fail-swap-on:bool:true feature-gates:mapStringBool:
file-check-frequency:duration:20s 1.32-1.36!global-housekeeping-interval:duration:1m0s
hairpin-mode:string:promiscuous-bridge healthz-bind-address:ip:127.0.0.1 healthz-port:int32:10248
help:bool:false hostname-override:string: housekeeping-interval:duration:1s
http-check-frequency:duration:20s image-credential-provider-bin-dir:string:
image-credential-provider-config:string: image-gc-high-threshold:int32:85
image-gc-low-threshold:int32:80 image-service-endpoint:string:
kernel-memcg-notification:bool:false kube-api-burst:int32:100
kube-api-content-type:string:application/vnd.kubernetes.protobuf kube-api-qps:int32:50
kube-reserved:mapStringString: kube-reserved-cgroup:string: kubeconfig:string:
kubelet-cgroups:string: local-storage-capacity-isolation:bool:true lock-file:string:
1.32-1.36!log-cadvisor-usage:bool:false log-flush-frequency:duration:5s
log-json-info-buffer-size:quantity:0 log-json-split-stream:bool:false
log-text-info-buffer-size:quantity:0 log-text-split-stream:bool:false logging-format:string:text
1.32-1.36!machine-id-file:string:/etc/machine-id,/var/lib/dbus/machine-id
make-iptables-util-chains:bool:true manifest-url:string:
manifest-url-header:colonSeparatedMultimapStringString: max-open-files:int64:1000000
max-pods:int32:110 maximum-dead-containers:int32:-1 maximum-dead-containers-per-container:int32:1
memory-manager-policy:string:None minimum-container-ttl-duration:duration:0s
minimum-image-ttl-duration:duration:2m0s node-ip:string: node-labels:mapStringString:
node-status-max-images:int32:50 node-status-update-frequency:duration:10s oom-score-adj:int32:-999
pod-cidr:string: 1.32-1.34!pod-infra-container-image:string:registry.k8s.io/pause:3.10
pod-manifest-path:string: pod-max-pids:int64:-1 pods-per-core:int32:0 port:int32:10250
protect-kernel-defaults:bool:false provider-id:string: qos-reserved:mapStringString:
read-only-port:int32:10255 register-node:bool:true 1.32-1.33!register-schedulable:bool:true
register-with-taints:[]v1.Taint: registry-burst:int32:10 registry-qps:int32:5
reserved-cpus:string: reserved-memory:reserved-memory: resolv-conf:string:/etc/resolv.conf
root-dir:string:/var/lib/kubelet rotate-certificates:bool:false
rotate-server-certificates:bool:false runonce:bool:false runtime-cgroups:string:
runtime-request-timeout:duration:2m0s seccomp-default:bool:false serialize-image-pulls:bool:true
1.32-1.36!storage-driver-buffer-duration:duration:1m0s 1.32-1.36!storage-driver-db:string:cadvisor
1.32-1.36!storage-driver-host:string:localhost:8086 1.32-1.36!storage-driver-password:string:root
1.32-1.36!storage-driver-secure:bool:false 1.32-1.36!storage-driver-table:string:stats
1.32-1.36!storage-driver-user:string:root streaming-connection-idle-timeout:duration:4h0m0s
sync-frequency:duration:1m0s system-cgroups:string: system-reserved:mapStringString:
system-reserved-cgroup:string: tls-cert-file:string: tls-cipher-suites:stringSlice:[]
tls-min-version:string: tls-private-key-file:string: topology-manager-policy:string:none
topology-manager-policy-options:mapStringString: topology-manager-scope:string:container v:Level:0
version:version:false vmodule:pattern=N,...:
volume-plugin-dir:string:/usr/libexec/kubernetes/kubelet-plugins/volume/exec/
volume-stats-agg-period:duration:1m0s
"""


class KubeletFlag(Value):
    """A flag; ``no_option`` is its value without an argument, empty if it needs one."""

    name: str
    type: str
    no_option: str
    shorthand: str
    default: str


def of_release(release: str) -> frozenset[str]:
    return frozenset(
        flag.partition(":")[0]
        for first, last, flag in _words()
        if not first or first <= release <= last
    )


@cache
def flags() -> Mapping[str, KubeletFlag]:
    """Return the flags of all releases by name; a changed flag like in its newest release."""
    named = {}
    for _, _, flag in _words():
        name, kind, default = flag.split(":", 2)
        no_option = "true" if kind in _SWITCHES else ""
        named[name] = KubeletFlag(name, kind, no_option, _SHORTHANDS.get(name, ""), default)
    return MappingProxyType(named)


@cache
def by_shorthand() -> Mapping[str, KubeletFlag]:
    return MappingProxyType({each.shorthand: each for each in flags().values() if each.shorthand})


def _words() -> Iterator[tuple[str, str, str]]:
    """Yield the first and the last release (empty: all) and the flag."""
    for word in _TABLE.split():
        span, _, flag = word.rpartition("!")
        first, _, last = span.partition("-")
        yield first, last, flag
