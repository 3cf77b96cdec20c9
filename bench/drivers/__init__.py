"""One driver for each system: how it does the workloads, as its documentation says."""
