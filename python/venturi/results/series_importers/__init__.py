"""Importers of host series: how busy a host was, by the tools that people run next to a job."""
