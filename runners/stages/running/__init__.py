"""Running jobs and the tasks of stages on an engine, or in this process if they are small."""
