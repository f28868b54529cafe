"""Reports about a decision, a configuration, a machine or state files, without an agent.

All decisions are the core's. ``usecases`` reads the input files, ``output`` defines the document
formats, ``python_api`` implements the public package; the other packages are pure.
"""
