"""Python workers on this machine: forked, pooled, or started by an engine."""
