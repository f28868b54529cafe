"""The readers of files and texts in the public package, with checked arguments."""

from __future__ import annotations

from numalet.insight.python_api.arguments import checked
from numalet.insight.usecases import replaying
from numalet.io import machines
from numalet.io.documents.claims import device_claims
from numalet.io.documents.kubelet import kubelet_config
from numalet.io.documents.pods import pod_manifest

decode_config = checked(kubelet_config.decode)
load_claims = checked(device_claims.load_claims)
load_config = checked(kubelet_config.load)
load_pods = checked(pod_manifest.load_pods)
open_machine = checked(machines.open_machine)
read_claims = checked(device_claims.read_claims)
read_pods = checked(pod_manifest.read_pods)
replay = checked(replaying.replay)
