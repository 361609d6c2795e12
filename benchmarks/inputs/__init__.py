"""What benchmarks work on: real pages, documents and passages, and stores made for one purpose."""
