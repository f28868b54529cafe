"""Objects of a cluster: dumps, what the API server sends, NumaNodes, described fleets."""
