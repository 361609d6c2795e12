"""Decides on a score's rows in tasks: fits cuts on histograms, ranks by an exchange, counts votes, writes the layer."""
