"""Readers and writers of the outside world: a parser returns a value or raises findings."""
