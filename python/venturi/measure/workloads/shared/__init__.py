"""Programs, data and checks shared by several families."""
