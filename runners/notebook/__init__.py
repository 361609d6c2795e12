"""A store in Python: its columns as tables, SQL over them, and what notebooks show of them."""
