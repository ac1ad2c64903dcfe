"""One trial's life: what it is made of, its folders and space, and how it is run and recorded."""
