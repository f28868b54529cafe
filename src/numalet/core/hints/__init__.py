"""The hint protocol, the Topology Manager's mathematics. No state, no manager."""
