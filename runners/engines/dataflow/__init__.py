"""The engine `dataflow`: jobs of Google Cloud Dataflow, and what its workers need."""
