"""Lists of domains, hosts, addresses and words: read from text, kept compactly, and looked up for every address.

`entries` says what a line of a list means, `reading` reads whole files of them, `table` and `index` keep millions in a
file that processes share, `matching` and `wording` look addresses up, `kept` remembers what was made of a user's list.
"""
