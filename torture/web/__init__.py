"""Servers sent hostile requests, cut uploads and kills."""
