"""The command-line flags of every release of the kubelet, as the kubelets themselves define them.

``packaging/kubelet-flags/generate`` makes the table. A line has the releases that have the flag
(``-`` for all), its name, its type in pflag, its value without ``=`` and its shorthand (``-`` for
none), and its default.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from functools import cache
from types import MappingProxyType
from typing import Final

from numalet.core.model.value import Value

_TABLE: Final = r"""
- address ip - - ""
- allowed-unsafe-sysctls stringSlice - - ""
- anonymous-auth bool true - "false"
- application-metrics-count-limit int - - ""
- authentication-token-webhook bool true - "false"
- authentication-token-webhook-cache-ttl duration - - ""
- authorization-mode string - - ""
- authorization-webhook-cache-authorized-ttl duration - - ""
- authorization-webhook-cache-unauthorized-ttl duration - - ""
- boot-id-file string - - ""
- bootstrap-kubeconfig string - - ""
- cert-dir string - - ""
- cgroup-driver string - - ""
- cgroup-root string - - ""
- cgroups-per-qos bool true - "true"
- client-ca-file string - - ""
1.32-1.33 cloud-config string - - ""
- cloud-provider string - - ""
- cluster-dns stringSlice - - ""
- cluster-domain string - - ""
- config string - - ""
- config-dir string - - ""
- container-hints string - - ""
- container-log-max-files int32 - - ""
- container-log-max-size string - - ""
- container-runtime-endpoint string - - "unix:///run/containerd/containerd.sock"
- containerd string - - ""
- containerd-namespace string - - ""
- contention-profiling bool true - "false"
- cpu-cfs-quota bool true - "true"
- cpu-cfs-quota-period duration - - "100ms"
- cpu-manager-policy string - - "none"
- cpu-manager-policy-options mapStringStringNoSplit - - ""
- cpu-manager-reconcile-period duration - - ""
- enable-controller-attach-detach bool true - "false"
- enable-debugging-handlers bool true - "false"
- enable-load-reader bool true - "false"
- enable-server bool true - "false"
- enforce-node-allocatable stringSlice - - "[pods]"
- event-burst int32 - - ""
- event-qps int32 - - ""
- event-storage-age-limit string - - ""
- event-storage-event-limit string - - ""
- eviction-hard mapStringString - - ""
- eviction-max-pod-grace-period int32 - - ""
- eviction-minimum-reclaim mapStringString - - ""
- eviction-pressure-transition-period duration - - ""
- eviction-soft mapStringString - - ""
- eviction-soft-grace-period mapStringString - - ""
- exit-on-lock-contention bool true - "false"
- experimental-allocatable-ignore-eviction bool true - "false"
- experimental-mounter-path string - - ""
- fail-cgroupv1 bool true - "false"
- fail-swap-on bool true - "true"
- feature-gates mapStringBool - - ""
- file-check-frequency duration - - ""
- global-housekeeping-interval duration - - ""
- hairpin-mode string - - ""
- healthz-bind-address ip - - ""
- healthz-port int32 - - ""
- help bool true h "false"
- hostname-override string - - ""
- housekeeping-interval duration - - ""
- http-check-frequency duration - - ""
- image-credential-provider-bin-dir string - - ""
- image-credential-provider-config string - - ""
- image-gc-high-threshold int32 - - ""
- image-gc-low-threshold int32 - - ""
- image-service-endpoint string - - ""
- kernel-memcg-notification bool true - "false"
- kube-api-burst int32 - - ""
- kube-api-content-type string - - ""
- kube-api-qps int32 - - ""
- kube-reserved mapStringString - - ""
- kube-reserved-cgroup string - - ""
- kubeconfig string - - ""
- kubelet-cgroups string - - ""
- local-storage-capacity-isolation bool true - "false"
- lock-file string - - ""
- log-cadvisor-usage bool true - "false"
- log-flush-frequency duration - - ""
- log-json-info-buffer-size quantity - - ""
- log-json-split-stream bool true - "false"
- log-text-info-buffer-size quantity - - ""
- log-text-split-stream bool true - "false"
- logging-format string - - ""
- machine-id-file string - - ""
- make-iptables-util-chains bool true - "false"
- manifest-url string - - ""
- manifest-url-header colonSeparatedMultimapStringString - - ""
- max-open-files int64 - - ""
- max-pods int32 - - "110"
- maximum-dead-containers int32 - - ""
- maximum-dead-containers-per-container int32 - - ""
- memory-manager-policy string - - "None"
- minimum-container-ttl-duration duration - - ""
- minimum-image-ttl-duration duration - - ""
- node-ip string - - ""
- node-labels mapStringString - - ""
- node-status-max-images int32 - - ""
- node-status-update-frequency duration - - ""
- oom-score-adj int32 - - ""
- pod-cidr string - - ""
1.32-1.34 pod-infra-container-image string - - ""
- pod-manifest-path string - - ""
- pod-max-pids int64 - - "-1"
- pods-per-core int32 - - "0"
- port int32 - - ""
- protect-kernel-defaults bool true - "false"
- provider-id string - - ""
- qos-reserved mapStringString - - ""
- read-only-port int32 - - ""
- register-node bool true - "false"
1.32-1.33 register-schedulable bool true - "false"
- register-with-taints []v1.Taint - - ""
- registry-burst int32 - - ""
- registry-qps int32 - - ""
- reserved-cpus string - - ""
- reserved-memory reserved-memory - - ""
- resolv-conf string - - ""
- root-dir string - - ""
- rotate-certificates bool true - "false"
- rotate-server-certificates bool true - "false"
- runonce bool true - "false"
- runtime-cgroups string - - ""
- runtime-request-timeout duration - - ""
- seccomp-default bool true - "false"
- serialize-image-pulls bool true - "false"
- storage-driver-buffer-duration duration - - ""
- storage-driver-db string - - ""
- storage-driver-host string - - ""
- storage-driver-password string - - ""
- storage-driver-secure bool true - "false"
- storage-driver-table string - - ""
- storage-driver-user string - - ""
- streaming-connection-idle-timeout duration - - ""
- sync-frequency duration - - ""
- system-cgroups string - - ""
- system-reserved mapStringString - - ""
- system-reserved-cgroup string - - ""
- tls-cert-file string - - ""
- tls-cipher-suites stringSlice - - ""
- tls-min-version string - - ""
- tls-private-key-file string - - ""
- topology-manager-policy string - - "none"
- topology-manager-policy-options mapStringString - - ""
- topology-manager-scope string - - "container"
- v Level - v ""
- version version true - "false"
- vmodule pattern=N,... - - ""
- volume-plugin-dir string - - ""
- volume-stats-agg-period duration - - ""
"""


class KubeletFlag(Value):
    """A flag; ``no_option`` is its value where none is given, empty if it needs one."""

    name: str
    type: str
    no_option: str
    shorthand: str
    default: str


def of_release(release: str) -> frozenset[str]:
    """The names of the flags of a release."""
    return frozenset(name for span, name, _ in _lines() if _is_in(release, span))


@cache
def flags() -> Mapping[str, KubeletFlag]:
    """The flags of all releases by name; of one that has changed, as the newest release has it."""
    return MappingProxyType({name: _flag(name, rest) for _, name, rest in _lines()})


@cache
def by_shorthand() -> Mapping[str, KubeletFlag]:
    """The flags that have a shorthand, by it."""
    return MappingProxyType({each.shorthand: each for each in flags().values() if each.shorthand})


def _lines() -> Iterator[tuple[str, str, str]]:
    for line in _TABLE.strip().split("\n"):
        span, name, rest = line.split(" ", 2)
        yield span, name, rest


def _is_in(release: str, span: str) -> bool:
    first, _, last = span.partition("-")
    return not first or first <= release <= last


def _flag(name: str, rest: str) -> KubeletFlag:
    kind, no_option, shorthand, default = rest.split(" ", 3)
    return KubeletFlag(
        name, kind, no_option.removeprefix("-"), shorthand.removeprefix("-"), json.loads(default)
    )
