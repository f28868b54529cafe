"""The pipeline that turns a snapshot and a pod into a decision."""
