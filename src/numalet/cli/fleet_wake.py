"""``numalet fleet wake``: requeue pending pods when a node can admit them."""

from __future__ import annotations

from numalet.cli import output
from numalet.cli.cluster_options import ClusterOptions
from numalet.cli.options import with_options

EPILOG = """Examples:

  # one for a cluster, where state is published and pods wait for it
  numalet fleet wake --kubeconfig cluster.yaml

It changes the label numalet.dev/changed of a node, only while a pod waits that the node would have
now; it needs get, list, watch of nodes, pods and numalet.dev, and patch of nodes.

Exit status: 0 ended by a signal, 2 unusable input or an API server that refuses, 3 a bug.
"""


@with_options
def wake(cluster: ClusterOptions) -> None:
    """Touch nodes for which pods wait, so that the scheduler tries these pods again."""
    import asyncio

    from numalet.cluster import waker

    asyncio.run(waker.live(cluster.access(), output.say))
