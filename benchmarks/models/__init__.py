"""Speed and accuracy of advice, curves and verdicts."""
