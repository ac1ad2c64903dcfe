"""How rates change with the number of hosts and disks."""
