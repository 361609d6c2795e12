"""Words of adverts: what betting sites and sellers of sex write, in the languages that they write in."""
