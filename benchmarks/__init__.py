"""Speed, memory and quality, measured against named peers on the same data in the same run."""
