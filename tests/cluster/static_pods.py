"""The static pod of kube-scheduler, as kubeadm writes it, and with our patch."""

from __future__ import annotations

from typing import Any, Final

import jsonpatch
import yaml

from cluster import manifests

PATCH: Final = manifests.FOLDER / "scheduler-sidecar/host/patches/kube-scheduler0+json.yaml"
_WRITTEN: Final = """
apiVersion: v1
kind: Pod
metadata:
  labels: {component: kube-scheduler, tier: control-plane}
  name: kube-scheduler
  namespace: kube-system
spec:
  containers:
  - command:
    - kube-scheduler
    - --authentication-kubeconfig=/etc/kubernetes/scheduler.conf
    - --authorization-kubeconfig=/etc/kubernetes/scheduler.conf
    - --bind-address=127.0.0.1
    - --kubeconfig=/etc/kubernetes/scheduler.conf
    - --leader-elect=true
    image: registry.k8s.io/kube-scheduler:v1.34.2
    imagePullPolicy: IfNotPresent
    livenessProbe:
      failureThreshold: 8
      httpGet: {host: 127.0.0.1, path: /livez, port: 10259, scheme: HTTPS}
      initialDelaySeconds: 10
      periodSeconds: 10
      timeoutSeconds: 15
    name: kube-scheduler
    resources: {requests: {cpu: 100m}}
    volumeMounts:
    - {mountPath: /etc/kubernetes/scheduler.conf, name: kubeconfig, readOnly: true}
  hostNetwork: true
  priority: 2000001000
  priorityClassName: system-node-critical
  securityContext: {seccompProfile: {type: RuntimeDefault}}
  volumes:
  - hostPath: {path: /etc/kubernetes/scheduler.conf, type: FileOrCreate}
    name: kubeconfig
status: {}
"""


def kubeadm() -> dict[str, Any]:
    """As kubeadm writes it."""
    return dict(yaml.safe_load(_WRITTEN))


def patched() -> dict[str, Any]:
    """With our patch, as kubeadm applies it: RFC 6902."""
    patch = jsonpatch.JsonPatch(yaml.safe_load(PATCH.read_text()))
    return dict(patch.apply(kubeadm()))
