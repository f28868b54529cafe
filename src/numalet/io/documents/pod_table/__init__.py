"""The fields of pods, workloads and claims: the values that they take, and their use in numalet.

``fields.json`` has the fields of Kubernetes' OpenAPI documents from v1.32 to v1.37; the script
``packaging/api-fields/generate.py`` writes it. ``values`` adds the values that the API server
accepts, ``uses`` the effect of a field on a pod of the agent, and ``types`` puts all three
together. Checks of manifests (``checking``), the agent's OpenAPI document and the tables of
``docs/reference/pod-manifests.md`` (``page``) read the result.
"""
