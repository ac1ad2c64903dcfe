"""Time and cost of a job: equations, nodes, jobs, prices, bills."""
