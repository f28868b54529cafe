"""The client of a cluster's API server.

``access`` finds the server and the credentials; ``client`` sends requests; ``listing`` reads a
collection page by page; ``follow`` keeps a copy of a collection up to date across broken
connections.
"""
