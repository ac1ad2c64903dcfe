"""Kinds of hosts: every module here is loaded, and its `KIND` is a key of a cluster's file."""
