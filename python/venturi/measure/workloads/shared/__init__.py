"""What programs, data and checks of several families share."""
