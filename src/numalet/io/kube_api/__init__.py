"""The client of a cluster's API server: who may ask, how, and how to follow what changes.

``access`` says where the server is and who asks; ``client`` asks; ``listing`` reads a collection
page by page; ``follow`` keeps a copy of a collection current, whatever happens to its connections.
"""
