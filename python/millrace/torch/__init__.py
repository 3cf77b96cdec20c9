"""Millrace for PyTorch: a drop-in `DataLoader` with exact resuming."""

from millrace.torch.loader import DataLoader

__all__ = ["DataLoader"]
