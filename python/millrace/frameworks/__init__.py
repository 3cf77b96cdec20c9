"""Batches as the arrays of torch, JAX and TensorFlow when they are asked for."""
