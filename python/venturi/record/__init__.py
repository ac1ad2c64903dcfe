"""The trial record: the hub through which measuring and modelling meet."""
