"""What a job takes and costs: equations, nodes, jobs, prices, bills."""
