"""Where the time of one job went, stage by stage."""
