"""What a person sees on the terminal: tables, progress, and crawled text made safe to show."""
