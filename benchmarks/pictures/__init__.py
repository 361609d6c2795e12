"""Pictures beyond their speed (`benchmarks.images`): models, copies, captions, text on them, memory, a profile."""
