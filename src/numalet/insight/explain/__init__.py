"""Explain a decision, and search changes that would have led to another one.

``story`` repeats one decision with a recorder. ``search`` tries changes of the input; ``change``
repeats the affected decisions for each one and never infers a result, because decisions are not
monotone: the kubelet may refuse a smaller request and admit a larger one. ``matrix`` runs a list of
pods on many variants of a node.
"""
