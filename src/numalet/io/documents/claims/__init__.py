"""Devices of DRA: claims, classes and slices."""
