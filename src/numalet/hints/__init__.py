"""Floor 3: the hint protocol, the Topology Manager's mathematics. No state, no manager."""
