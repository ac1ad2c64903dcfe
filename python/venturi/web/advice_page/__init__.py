"""The pages of `advise`, `predict` and `simulate`: one self-contained HTML file each."""
