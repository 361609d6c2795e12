"""Lists of domains, hosts, addresses and words: read from text, kept compactly, and looked up for every address.

`entries` defines what a line means, `reading` reads whole files, `table` and `index` keep millions of entries in a file
that processes share, `matching` and `word_matching` look addresses up, and `cache` keeps users' lists made ready.
"""
