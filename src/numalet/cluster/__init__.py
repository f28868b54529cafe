"""What works in a cluster: watches it, pretends to be its nodes, serves what it sees."""
