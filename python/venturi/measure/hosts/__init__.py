"""Hosts: what measuring does on a machine goes through one; the local one is one of them."""
