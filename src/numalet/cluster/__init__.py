"""Programs for a cluster: watches, hollow nodes, and servers."""
