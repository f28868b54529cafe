"""Projections of snapshots and decisions. Values in, plain values out."""
