"""What a decision means for the kernel: settings wanted, settings seen, and the difference.

A snapshot and its workloads give the *desired* settings of every cgroup and every container
(``desired``), by the kubelet's formulas (``conversions``). What was *observed* is compared with
them (``drift``), and the difference is what has to be written. So the first start, the periodic
resync and the recovery after a crash are one and the same thing. ``levels`` says how strong a
guarantee is where the kernel can not give the full one; ``audit`` compares the pages that a
container really has with what it was promised.

Nothing here writes or reads a file: a setting is a value, a write is a value.
"""
