"""The files of control groups, version 2."""
