"""Pictures: values in, SVG text out. No other room draws.

A drawing is one ``<svg>`` element, complete in itself: it brings its own style sheet (``tokens``),
refers to nothing outside, has a text alternative on every mark and no script. A page can
light a pod up: every mark of a pod has the attribute ``data-pod`` with its uid.

``tokens`` has colours, sizes and the style sheet; ``svg`` the elements; each other module one
drawing, whose function takes a value of ``insight`` and gives the text.
"""
