"""Floor 6: the pipeline that turns a snapshot and a pod into a decision."""
