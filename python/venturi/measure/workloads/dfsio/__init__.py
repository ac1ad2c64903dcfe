"""Files through the engine's file system."""
