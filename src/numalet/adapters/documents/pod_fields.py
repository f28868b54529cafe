"""The member names of a pod that Kubernetes knows, up to release 1.36.

A misspelt name would silently change what a pod asks for, so a manifest with an unknown one is
refused, as kubectl does. Of all these members only a few concern NUMA decisions; the others are
not looked into.
"""

from __future__ import annotations

from typing import Final

POD: Final = frozenset({"apiVersion", "kind", "metadata", "spec", "status"})

_SPEC_TEXT: Final = """
    activeDeadlineSeconds affinity automountServiceAccountToken containers dnsConfig dnsPolicy
    enableServiceLinks ephemeralContainers hostAliases hostIPC hostNetwork hostPID hostUsers
    hostname hostnameOverride imagePullSecrets initContainers nodeName nodeSelector os overhead
    preemptionPolicy priority priorityClassName readinessGates resourceClaims resources
    restartPolicy runtimeClassName schedulerName schedulingGates schedulingGroup securityContext
    serviceAccount serviceAccountName setHostnameAsFQDN shareProcessNamespace subdomain
    terminationGracePeriodSeconds tolerations topologySpreadConstraints volumes workloadRef
"""
SPEC: Final = frozenset(_SPEC_TEXT.split())

_CONTAINER_TEXT: Final = """
    args command env envFrom image imagePullPolicy lifecycle livenessProbe name ports
    readinessProbe resizePolicy resources restartPolicy restartPolicyRules securityContext
    startupProbe stdin stdinOnce terminationMessagePath terminationMessagePolicy tty
    volumeDevices volumeMounts workingDir
"""
CONTAINER: Final = frozenset(_CONTAINER_TEXT.split())

PHASES: Final = ("Pending", "Running", "Succeeded", "Failed", "Unknown")
