"""The server of the page: who may ask it, what it gives up, its files and how they are built."""
