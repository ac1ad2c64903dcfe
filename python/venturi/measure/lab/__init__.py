"""The lab: an emulated cluster on this machine, with networks and disks of chosen speeds."""
