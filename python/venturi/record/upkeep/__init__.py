"""What keeps a repository whole: what is wrong in it, what goes for good, and copies of it all."""
