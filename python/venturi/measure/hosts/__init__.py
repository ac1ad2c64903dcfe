"""Hosts: measuring uses a machine only through one; the local machine is one of them."""
