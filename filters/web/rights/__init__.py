"""How statements about the use of pages read: headers, elements, robots.txt."""
