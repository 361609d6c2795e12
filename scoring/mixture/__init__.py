"""Mixtures: shares level by level within the available samples, and cuts that select the required amounts."""
