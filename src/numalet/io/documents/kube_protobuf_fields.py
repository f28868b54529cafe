"""Field numbers of the Kubernetes objects that come in as protocol buffers.

A field is ``name=number:type``. Types: ``s`` text, ``i`` whole number, ``b`` truth, ``q`` quantity,
``t`` moment, ``x`` number or text, ``-`` passed over, else the name of a message; ``[]`` before it
is a list, ``{}`` a map from texts. ``?`` after it is a field that may be absent: Go writes all
others always, and leaves them out of JSON where they are empty.

Kubernetes v1.32: ``generated.proto`` of ``core/v1``, ``meta/v1``, ``policy/v1``, ``runtime``.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Final

from numalet.core.model.value import Value


class WireField(Value):
    """One field: its name in JSON, and what it holds."""

    name: str
    type: str
    is_list: bool
    is_map: bool
    is_optional: bool


_MESSAGES: Final[Mapping[str, str]] = {
    # The envelope.
    "Unknown": "typeMeta=1:TypeMeta raw=2:raw contentEncoding=3:s contentType=4:s",
    "TypeMeta": "apiVersion=1:s kind=2:s",
    # What is posted.
    "Pod": "metadata=1:ObjectMeta spec=2:PodSpec status=3:-",
    "Eviction": "metadata=1:ObjectMeta deleteOptions=2:DeleteOptions",
    "DeleteOptions": (
        "gracePeriodSeconds=1:i? preconditions=2:Preconditions orphanDependents=3:b?"
        " propagationPolicy=4:s? dryRun=5:[]s"
        " ignoreStoreReadErrorWithClusterBreakingPotential=6:b?"
    ),
    "Preconditions": "uid=1:s? resourceVersion=2:s?",
    "ObjectMeta": (
        "name=1:s generateName=2:s namespace=3:s selfLink=4:s uid=5:s resourceVersion=6:s"
        " generation=7:i creationTimestamp=8:t deletionTimestamp=9:t"
        " deletionGracePeriodSeconds=10:i? labels=11:{}s annotations=12:{}s"
        " ownerReferences=13:[]OwnerReference finalizers=14:[]s managedFields=17:-"
    ),
    "OwnerReference": (
        "kind=1:s name=3:s uid=4:s apiVersion=5:s controller=6:b? blockOwnerDeletion=7:b?"
    ),
    "PodSpec": (
        "volumes=1:[]Volume containers=2:[]Container restartPolicy=3:s"
        " terminationGracePeriodSeconds=4:i? activeDeadlineSeconds=5:i? dnsPolicy=6:s"
        " nodeSelector=7:{}s serviceAccountName=8:s serviceAccount=9:s nodeName=10:s"
        " hostNetwork=11:b hostPID=12:b hostIPC=13:b securityContext=14:PodSecurityContext"
        " imagePullSecrets=15:[]LocalObjectReference hostname=16:s subdomain=17:s"
        " affinity=18:Affinity schedulerName=19:s initContainers=20:[]Container"
        " automountServiceAccountToken=21:b? tolerations=22:[]Toleration"
        " hostAliases=23:[]HostAlias priorityClassName=24:s priority=25:i?"
        " dnsConfig=26:PodDNSConfig shareProcessNamespace=27:b?"
        " readinessGates=28:[]PodReadinessGate runtimeClassName=29:s? enableServiceLinks=30:b?"
        " preemptionPolicy=31:s? overhead=32:{}q"
        " topologySpreadConstraints=33:[]TopologySpreadConstraint"
        " ephemeralContainers=34:[]EphemeralContainer setHostnameAsFQDN=35:b? os=36:PodOS"
        " hostUsers=37:b? schedulingGates=38:[]PodSchedulingGate"
        " resourceClaims=39:[]PodResourceClaim resources=40:ResourceRequirements"
    ),
    "Container": (
        "name=1:s image=2:s command=3:[]s args=4:[]s workingDir=5:s ports=6:[]ContainerPort"
        " env=7:[]EnvVar resources=8:ResourceRequirements volumeMounts=9:[]VolumeMount"
        " livenessProbe=10:Probe readinessProbe=11:Probe lifecycle=12:Lifecycle"
        " terminationMessagePath=13:s imagePullPolicy=14:s securityContext=15:SecurityContext"
        " stdin=16:b stdinOnce=17:b tty=18:b envFrom=19:[]EnvFromSource"
        " terminationMessagePolicy=20:s volumeDevices=21:[]VolumeDevice startupProbe=22:Probe"
        " resizePolicy=23:[]ContainerResizePolicy restartPolicy=24:s?"
    ),
    "EphemeralContainer": "ephemeralContainerCommon=1:- targetContainerName=2:s",
    "ResourceRequirements": "limits=1:{}q requests=2:{}q claims=3:[]ResourceClaim",
    "ResourceClaim": "name=1:s request=2:s",
    "ContainerResizePolicy": "resourceName=1:s restartPolicy=2:s",
    "ContainerPort": "name=1:s hostPort=2:i containerPort=3:i protocol=4:s hostIP=5:s",
    "EnvVar": "name=1:s value=2:s valueFrom=3:EnvVarSource",
    "EnvVarSource": (
        "fieldRef=1:ObjectFieldSelector resourceFieldRef=2:ResourceFieldSelector"
        " configMapKeyRef=3:KeySelector secretKeyRef=4:KeySelector"
    ),
    "ObjectFieldSelector": "apiVersion=1:s fieldPath=2:s",
    "ResourceFieldSelector": "containerName=1:s resource=2:s divisor=3:q",
    "KeySelector": "=1:LocalObjectReference key=2:s optional=3:b?",
    "EnvFromSource": "prefix=1:s configMapRef=2:EnvSource secretRef=3:EnvSource",
    "EnvSource": "=1:LocalObjectReference optional=2:b?",
    "LocalObjectReference": "name=1:s",
    "VolumeMount": (
        "name=1:s readOnly=2:b mountPath=3:s subPath=4:s mountPropagation=5:s? subPathExpr=6:s"
        " recursiveReadOnly=7:s?"
    ),
    "VolumeDevice": "name=1:s devicePath=2:s",
    # Which kind of volume it is; none is mounted, whatever is said of it.
    "Volume": "name=1:s =2:VolumeSource",
    "VolumeSource": (
        "hostPath=1:Any emptyDir=2:Any secret=6:Any nfs=7:Any iscsi=8:Any"
        " persistentVolumeClaim=10:Any downwardAPI=16:Any configMap=19:Any projected=26:Any"
        " csi=28:Any ephemeral=29:Any image=30:Any"
    ),
    "Any": "",
    "Probe": (
        "=1:ProbeHandler initialDelaySeconds=2:i timeoutSeconds=3:i periodSeconds=4:i"
        " successThreshold=5:i failureThreshold=6:i terminationGracePeriodSeconds=7:i?"
    ),
    "ProbeHandler": (
        "exec=1:ExecAction httpGet=2:HTTPGetAction tcpSocket=3:TCPSocketAction grpc=4:GRPCAction"
    ),
    "Lifecycle": "postStart=1:LifecycleHandler preStop=2:LifecycleHandler stopSignal=3:s?",
    "LifecycleHandler": (
        "exec=1:ExecAction httpGet=2:HTTPGetAction tcpSocket=3:TCPSocketAction sleep=4:SleepAction"
    ),
    "ExecAction": "command=1:[]s",
    "HTTPGetAction": "path=1:s port=2:x host=3:s scheme=4:s httpHeaders=5:[]NameAndValue",
    "TCPSocketAction": "port=1:x host=2:s",
    "GRPCAction": "port=1:i service=2:s?",
    "SleepAction": "seconds=1:i",
    "NameAndValue": "name=1:s value=2:s",
    "SecurityContext": (
        "capabilities=1:Capabilities privileged=2:b? seLinuxOptions=3:SELinuxOptions"
        " runAsUser=4:i? runAsNonRoot=5:b? readOnlyRootFilesystem=6:b?"
        " allowPrivilegeEscalation=7:b? runAsGroup=8:i? procMount=9:s? windowsOptions=10:Any"
        " seccompProfile=11:Profile appArmorProfile=12:Profile"
    ),
    "PodSecurityContext": (
        "seLinuxOptions=1:SELinuxOptions runAsUser=2:i? runAsNonRoot=3:b?"
        " supplementalGroups=4:[]i fsGroup=5:i? runAsGroup=6:i? sysctls=7:[]NameAndValue"
        " windowsOptions=8:Any fsGroupChangePolicy=9:s? seccompProfile=10:Profile"
        " appArmorProfile=11:Profile supplementalGroupsPolicy=12:s? seLinuxChangePolicy=13:s?"
    ),
    "Capabilities": "add=1:[]s drop=2:[]s",
    "SELinuxOptions": "user=1:s role=2:s type=3:s level=4:s",
    "Profile": "type=1:s localhostProfile=2:s?",
    "Toleration": "key=1:s operator=2:s value=3:s effect=4:s tolerationSeconds=5:i?",
    "HostAlias": "ip=1:s hostnames=2:[]s",
    "PodDNSConfig": "nameservers=1:[]s searches=2:[]s options=3:[]DNSOption",
    "DNSOption": "name=1:s value=2:s?",
    "PodReadinessGate": "conditionType=1:s",
    "PodSchedulingGate": "name=1:s",
    "PodOS": "name=1:s",
    "PodResourceClaim": "name=1:s resourceClaimName=3:s? resourceClaimTemplateName=4:s?",
    "TopologySpreadConstraint": (
        "maxSkew=1:i topologyKey=2:s whenUnsatisfiable=3:s labelSelector=4:LabelSelector"
        " minDomains=5:i? nodeAffinityPolicy=6:s? nodeTaintsPolicy=7:s? matchLabelKeys=8:[]s"
    ),
    "LabelSelector": "matchLabels=1:{}s matchExpressions=2:[]Requirement",
    "Requirement": "key=1:s operator=2:s values=3:[]s",
    "Affinity": (
        "nodeAffinity=1:NodeAffinity podAffinity=2:PodAffinity podAntiAffinity=3:PodAffinity"
    ),
    "NodeAffinity": (
        "requiredDuringSchedulingIgnoredDuringExecution=1:NodeSelector"
        " preferredDuringSchedulingIgnoredDuringExecution=2:[]PreferredTerm"
    ),
    "NodeSelector": "nodeSelectorTerms=1:[]NodeSelectorTerm",
    "NodeSelectorTerm": "matchExpressions=1:[]Requirement matchFields=2:[]Requirement",
    "PreferredTerm": "weight=1:i preference=2:NodeSelectorTerm",
    "PodAffinity": (
        "requiredDuringSchedulingIgnoredDuringExecution=1:[]PodAffinityTerm"
        " preferredDuringSchedulingIgnoredDuringExecution=2:[]WeightedPodAffinityTerm"
    ),
    "WeightedPodAffinityTerm": "weight=1:i podAffinityTerm=2:PodAffinityTerm",
    "PodAffinityTerm": (
        "labelSelector=1:LabelSelector namespaces=2:[]s topologyKey=3:s"
        " namespaceSelector=4:LabelSelector matchLabelKeys=5:[]s mismatchLabelKeys=6:[]s"
    ),
}


@cache
def fields(message: str) -> Mapping[int, WireField]:
    """The fields of a message by number."""
    by_number = {}
    for each in _MESSAGES[message].split():
        name, _, rest = each.partition("=")
        number, _, kind = rest.partition(":")
        plain = kind.removeprefix("[]").removeprefix("{}").removesuffix("?")
        by_number[int(number)] = WireField(
            name=name,
            type=plain,
            is_list=kind.startswith("[]"),
            is_map=kind.startswith("{}"),
            is_optional=kind.endswith("?"),
        )
    return by_number
