"""Programs to try a node with. They are examples, and nothing of the node depends on them."""
