"""Python workers of this machine: forked, pooled, or started by an engine."""
