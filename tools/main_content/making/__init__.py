"""Made pages: sites that real themes and generators build out of free texts, so that the body of each page is known."""
