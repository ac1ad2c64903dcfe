"""All jobs of a repository in one list: the time of each, and the saving of its biggest fix."""
