"""The one table of the fields of a Pod: what they may be, and what this agent does with them.

Kubernetes' core/v1 Pod of v1.32, and what later releases added up to v1.37 (``since``). From it
come the checks of manifests (``checking``), the OpenAPI document with what ``kubectl explain``
shows, and the tables of ``docs/reference/pod-manifests.md`` (``page``). Start at ``pod.POD``.
"""
