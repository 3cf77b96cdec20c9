"""SimCLR's augmentations in torchvision v2, on tensors of bytes in memory."""

import sys

import peer

try:
    import torch
    from torchvision.transforms import v2
except ImportError:
    peer.missing("torchvision")

images, threads = int(sys.argv[1]), int(sys.argv[2])
torch.set_num_threads(threads)
torch.manual_seed(0)
pictures = torch.randint(0, 256, (images, 3, 375, 500), dtype=torch.uint8)
augment = v2.Compose(
    [
        v2.RandomResizedCrop(224, antialias=True),
        v2.RandomHorizontalFlip(),
        v2.RandomApply([v2.ColorJitter(0.8, 0.8, 0.8, 0.2)], p=0.8),
        v2.RandomGrayscale(0.2),
        v2.RandomApply([v2.GaussianBlur(23, (0.1, 2.0))], p=0.5),
    ]
)


def work() -> None:
    """Augment all images, one after another, into a batch."""
    torch.stack([augment(picture) for picture in pictures])


peer.serve(images, work)
