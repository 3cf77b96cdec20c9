"""`millrace bench python`: the package beside torch and beside plain Python."""
