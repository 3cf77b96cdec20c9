"""Data for the workloads: made from seeds, as large and as hard as real data is."""
