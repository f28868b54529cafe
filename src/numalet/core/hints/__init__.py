"""The hint protocol and the Topology Manager's merge: functions of values, without any manager."""
