"""Speed of probes, labs, links, traces and tiers."""
