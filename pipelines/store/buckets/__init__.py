"""Objects in buckets: S3 and Google Cloud Storage behind the facade."""
