"""A ResNet-50 on a GPU, fed by one loader after the other."""
