"""The engine `dataflow`: submits jobs to Google Cloud Dataflow, and provides what its workers need."""
