"""Packages that add to winnow from outside its tree."""
