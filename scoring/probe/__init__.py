"""Small language models trained on mixtures of families: where the runs come from that a scaling law is fitted on."""
