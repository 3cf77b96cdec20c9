"""The kernels, by what they are about: mr.image, mr.math, mr.text and others.

Each function records a call where it is given traced values, and runs at once on NumPy
arrays and plain values.
"""
