"""The report: one self-contained HTML file about a machine and the sorts it did."""
