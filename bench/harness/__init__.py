"""What measures systems that feed training loops, each in a process of its own."""
