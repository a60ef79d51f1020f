"""What files, data sets and reports show of themselves: facts, the words for them, and HTML for notebooks."""
