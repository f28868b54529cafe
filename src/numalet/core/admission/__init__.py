"""Admission: a snapshot and a pod give a decision."""
