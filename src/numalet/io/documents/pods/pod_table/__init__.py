"""The fields of pods, workloads and claims, with their values and their use in numalet.

``packaging/api-fields/generate.py`` writes ``fields.json`` from Kubernetes' OpenAPI documents
(v1.32 to v1.37). ``values`` adds the values that the API server accepts, ``uses`` the effect on a
pod of the agent, and ``types`` combines them.
"""
