"""Readers and writers of the outside world: a parser ends in a value or in findings."""
