"""The parts of the drawing of a node, which ``node_drawing`` combines."""
