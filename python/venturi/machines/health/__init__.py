"""Whether a machine is as it should be: the doctor's rules, device classes, verdicts."""
