"""Drawings: functions from values to SVG text. All drawings of the program are here.

A drawing is one self-contained ``<svg>`` element: it contains its style sheet (``tokens``), has no
external references and no script, and a text alternative on every mark. A page can highlight a pod:
every mark of a pod has the attribute ``data-pod`` with its uid.

``tokens`` has colours, sizes and the style sheet; ``svg`` the elements; each other module has one
drawing, a function from a value of ``insight`` to the text.
"""
