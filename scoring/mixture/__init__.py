"""Ratios put to work: shares level by level, within what there is, and cuts that give what was asked."""
