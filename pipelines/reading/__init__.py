"""Reading rows: columns by name, conditions over them, items of lists, and which text of a row counts."""
