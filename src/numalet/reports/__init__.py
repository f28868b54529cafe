"""Floor 9: projections of snapshots and decisions. Values in, plain values out."""
