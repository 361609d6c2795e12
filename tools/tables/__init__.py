"""Makes the tables that come with winnow from those that others publish."""
