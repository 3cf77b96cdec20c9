"""Images: decoding, geometry, colour and random changes.

Written by tools/python_faces.py from the catalog of the engine.
"""

from collections.abc import Sequence
from typing import Literal

from millrace._kernel_call import Value, call, pair
from millrace.rng import Rng, draw


def adjust_brightness(image: Value, factor: Value) -> Value:
    """Multiplies every value of an image by a factor.

    Args:
        image: An image of height, width and 3 channels, or 1: uint8, or float32 from 0
            to 1.
        factor: A number from 0, which gives black, over 1, which changes nothing, to
            20; another is an error of the row.
    """
    return call("adjust_brightness", [image, factor], {})


def adjust_contrast(image: Value, factor: Value) -> Value:
    """Moves every value of an image away from the mean of its greys, or to it.

    Args:
        image: An image of height, width and 3 channels, or 1: uint8, or float32 from 0
            to 1.
        factor: A number from 0, which gives that mean everywhere, over 1, which changes
            nothing, to 20; another is an error of the row.
    """
    return call("adjust_contrast", [image, factor], {})


def adjust_hue(image: Value, shift: Value) -> Value:
    """Turns the hue of every pixel of an image around the colour circle.

    Args:
        image: An image of height, width and 3 channels, or 1: uint8, or float32 from 0
            to 1.
        shift: A number from -0.5 to 0.5, as a share of the circle; another is an error
            of the row.
    """
    return call("adjust_hue", [image, shift], {})


def adjust_saturation(image: Value, factor: Value) -> Value:
    """Moves every pixel of an image away from its own grey, or to it.

    Args:
        image: An image of height, width and 3 channels, or 1: uint8, or float32 from 0
            to 1.
        factor: A number from 0, which gives greys, over 1, which changes nothing, to
            20; another is an error of the row.
    """
    return call("adjust_saturation", [image, factor], {})


def adjust_sharpness(image: Value, factor: Value) -> Value:
    """Moves every pixel of an image away from the mean around it, or to it.

    Args:
        image: An image of height, width and channels, uint8.
        factor: A number from 0, which gives a smoothed image, over 1, which changes
            nothing, to 20; another is an error of the row.
    """
    return call("adjust_sharpness", [image, factor], {})


def affine(
    image: Value,
    angle: Value,
    translate_x: Value,
    translate_y: Value,
    scale: Value,
    shear_x: Value,
    shear_y: Value,
    *,
    method: Literal["nearest", "bilinear"] = "nearest",
    fill: Sequence[int] = (0,),
) -> Value:
    """Shears, turns, scales and moves an image, around its middle, as torchvision's
    affine does.

    Numbers beyond all use are errors of the row.

    Args:
        image: An image of height, width and channels, uint8 or float32.
        angle: Degrees with the clock, a number.
        translate_x: Pixels to the right, a number.
        translate_y: Pixels down, a number.
        scale: How many times larger, a number from 0.001 to 1000.
        shear_x: Degrees along the rows, from -85 to 85.
        shear_y: Degrees along the columns, from -85 to 85.
        method: How values between pixels are found: nearest or bilinear.
        fill: The colour beyond the edges: one value, or one by channel, as the image
            has them.
    """
    arguments: dict[str, object] = {"method": method, "fill": fill}
    return call(
        "affine",
        [image, angle, translate_x, translate_y, scale, shear_x, shear_y],
        arguments,
    )


def auto_augment(
    image: Value,
    *,
    policy: Literal["imagenet", "cifar10", "svhn"] = "imagenet",
    fill: int = 0,
    rng: Rng,
) -> Value:
    """Changes an image by a random pair of operations of a learnt policy, as
    torchvision's AutoAugment does.

    Args:
        image: An image of height, width and 3 channels, or 1, uint8.
        policy: The dataset for which it was learnt: imagenet, cifar10 or svhn.
        fill: The value of what is not in the image.
        rng: What to draw from.
    """
    arguments: dict[str, object] = {"policy": policy, "fill": fill}
    return draw(rng, "auto_augment", [image], arguments)


def autocontrast(image: Value) -> Value:
    """Stretches each channel of an image, so that its values reach from 0 to 255.

    Args:
        image: An image of height, width and channels, uint8.
    """
    return call("autocontrast", [image], {})


def center_crop(image: Value, size: tuple[int, int], *, fill: float = 0.0) -> Value:
    """Takes the middle of an image; where the image is smaller, there is a margin
    around it.

    Args:
        image: An image of height, width and channels.
        size: The height of the result in pixels. The width of the result in pixels.
        fill: The value beyond the edges where the mode is constant.
    """
    size = pair("center_crop", "size", size)
    arguments: dict[str, object] = {"height": size[0], "width": size[1], "fill": fill}
    return call("center_crop", [image], arguments)


def color_jitter(
    image: Value,
    *,
    brightness: float = 0.0,
    contrast: float = 0.0,
    saturation: float = 0.0,
    hue: float = 0.0,
    p: float = 1.0,
    rng: Rng,
) -> Value:
    """Changes brightness, contrast, saturation and hue of some images, in random order
    and by random amounts, as torchvision's ColorJitter does.

    Args:
        image: An image of height, width and 3 channels, or 1: uint8, or float32 from 0
            to 1.
        brightness: The factor is drawn from 1 - brightness, at least 0, to 1 +
            brightness.
        contrast: The same for the contrast.
        saturation: The same for the saturation.
        hue: The shift is drawn from -hue to hue, as a share of the colour circle; at
            most 0.5.
        p: How likely it is that an image is changed, from 0 to 1.
        rng: What to draw from.
    """
    arguments: dict[str, object] = {
        "brightness": brightness,
        "contrast": contrast,
        "saturation": saturation,
        "hue": hue,
        "p": p,
    }
    return draw(rng, "color_jitter", [image], arguments)


def crop(image: Value, box: Value) -> Value:
    """Takes the part of an image that lies in a box.

    Args:
        image: An image of height, width and channels.
        box: Top, left, height and width in pixels, int64; outside of the image it is an
            error of the row.
    """
    return call("crop", [image, box], {})


def decode(bytes: Value, *, scale: int = 1) -> Value:
    """Decodes an image to RGB: uint8 of height, width and 3 channels.

    Damaged data is an error of the row; EXIF is ignored, transparency dropped.

    Args:
        bytes: The bytes of one JPEG, PNG or WebP file per row.
        scale: Decodes a JPEG 1, 2, 4 or 8 times smaller on each side, which is quicker
            than to resize it.

    Example:
        >>> png = mr.image.encode(np.zeros((4, 6, 3), np.uint8), format="png")
        >>> mr.image.decode(png).shape
        (4, 6, 3)
    """
    arguments: dict[str, object] = {"scale": scale}
    return call("decode_image", [bytes], arguments)


def decode_region(bytes: Value, box: Value) -> Value:
    """Decodes what lies in a box: the pixels of crop(decode_image(bytes), box), without
    decoding all of a JPEG.

    Damage below the box is not seen.

    Args:
        bytes: The bytes of one JPEG, PNG or WebP file per row.
        box: Top, left, height and width in pixels, int64; outside of the image it is an
            error of the row.
    """
    return call("decode_region", [bytes, box], {})


def decode_resized(
    bytes: Value,
    box: Value,
    size: tuple[int, int],
    *,
    method: Literal["nearest", "bilinear", "bicubic"] = "bilinear",
    antialias: bool = False,
) -> Value:
    """Decodes what lies in a box and makes it larger or smaller: the pixels of
    resize(decode_region(bytes, box)), without an image in between.

    Args:
        bytes: The bytes of one JPEG, PNG or WebP file per row.
        box: Top, left, height and width in pixels, int64; outside of the image, or
            empty, it is an error of the row.
        size: The height of the result in pixels. The width of the result in pixels.
        method: How values between pixels are found: nearest, bilinear or bicubic.
        antialias: Whether every source pixel counts where the image gets smaller, as in
            Pillow; slower.
    """
    size = pair("decode_resized", "size", size)
    arguments: dict[str, object] = {
        "height": size[0],
        "width": size[1],
        "method": method,
        "antialias": antialias,
    }
    return call("decode_resized", [bytes, box], arguments)


def draw_cutmix(images: Value, *, alpha: float = 1.0, rng: Rng) -> Value:
    """Draws which box of the images of a batch is replaced by that of others (CutMix),
    for mix_images and mix_labels.

    Args:
        images: A batch of images: number, height, width and channels, uint8 or float32.
        alpha: Both parameters of the Beta distribution from which the share of an image
            is drawn that stays.
        rng: What to draw from.
    """
    arguments: dict[str, object] = {"alpha": alpha}
    return draw(rng, "draw_cutmix", [images], arguments)


def draw_mixup(images: Value, *, alpha: float = 0.2, rng: Rng) -> Value:
    """Draws how the images of a batch are blended with each other (mixup), for
    mix_images and mix_labels.

    Args:
        images: A batch of images: number, height, width and channels, uint8 or float32.
        alpha: Both parameters of the Beta distribution from which the share of an image
            is drawn that stays.
        rng: What to draw from.
    """
    arguments: dict[str, object] = {"alpha": alpha}
    return draw(rng, "draw_mixup", [images], arguments)


def encode(
    image: Value,
    format: Literal["jpeg", "png", "webp"] = "jpeg",
    *,
    quality: int = 90,
) -> Value:
    """Encodes an image: the bytes of a JPEG, PNG or WebP file.

    Args:
        image: An image of height, width and 3 channels, uint8.
        format: The format of the file: jpeg, png or webp.
        quality: How much of the image is kept, from 1 to 100; PNG keeps all.
    """
    arguments: dict[str, object] = {"format": format, "quality": quality}
    return call("encode_image", [image], arguments)


def equalize(image: Value) -> Value:
    """Changes the values of each channel of an image so that they come about equally
    often, as Pillow does.

    Args:
        image: An image of height, width and channels, uint8.
    """
    return call("equalize", [image], {})


def flip_horizontal(image: Value, condition: Value) -> Value:
    """Mirrors an image left to right where a condition holds.

    Args:
        image: An image of height, width and channels.
        condition: A bool; uniform(0.0, 1.0) < 0.5 flips every other image.
    """
    return call("flip_horizontal", [image, condition], {})


def flip_vertical(image: Value, condition: Value) -> Value:
    """Mirrors an image top to bottom where a condition holds.

    Args:
        image: An image of height, width and channels.
        condition: A bool; uniform(0.0, 1.0) < 0.5 flips every other image.
    """
    return call("flip_vertical", [image, condition], {})


def gaussian_blur(image: Value, sigma: Value, kernel_size: int) -> Value:
    """Blurs an image: each pixel becomes the mean of those around it, weighted by a
    bell curve.

    The image is reflected at its edges.

    Args:
        image: An image of height, width and channels, uint8 or float32.
        sigma: The deviation of the bell curve in pixels, a number; 0 or less is an
            error of the row.
        kernel_size: How many pixels on a line count for each: odd, at most 99.
    """
    arguments: dict[str, object] = {"kernel_size": kernel_size}
    return call("gaussian_blur", [image, sigma], arguments)


def grayscale(image: Value, *, channels: int = 3) -> Value:
    """Makes an image grey: 0.299 of red, 0.587 of green and 0.114 of blue.

    Args:
        image: An image of height, width and 3 channels, or 1: uint8, or float32 from 0
            to 1.
        channels: How many channels the result has: 1, or 3 that are alike.
    """
    arguments: dict[str, object] = {"channels": channels}
    return call("grayscale", [image], arguments)


def invert(image: Value) -> Value:
    """Makes of each value x of an image 255 - x.

    Args:
        image: An image of height, width and channels, uint8.
    """
    return call("invert", [image], {})


def mix_images(images: Value, draw: Value) -> Value:
    """Mixes the images of a batch with each other, as was drawn.

    Args:
        images: A batch of images: number, height, width and channels, uint8 or float32.
        draw: What draw_mixup or draw_cutmix drew for the batch.
    """
    return call("mix_images", [images, draw], {})


def mix_labels(labels: Value, draw: Value, *, num_classes: int = 0) -> Value:
    """Mixes the labels of a batch as mix_images does its images: a share of each class
    by image, float32.

    Args:
        labels: The class of each image, an integer, or a share of each class by image,
            float32.
        draw: What draw_mixup or draw_cutmix drew for the batch.
        num_classes: How many classes there are, for labels that are integers.
    """
    arguments: dict[str, object] = {"num_classes": num_classes}
    return call("mix_labels", [labels, draw], arguments)


def normalize(
    image: Value,
    mean: Sequence[float],
    deviation: Sequence[float],
    *,
    scale: float = 0.00392156862745098,
    layout: Literal["hwc", "chw"] = "hwc",
) -> Value:
    """Computes (x * scale - mean) / deviation by channel, as float32.

    Args:
        image: An image of height, width and channels, uint8.
        mean: What to subtract, a number per channel.
        deviation: What to divide by then, a number per channel, none 0.
        scale: What to multiply by first; 1/255 makes 255 a 1.
        layout: The order of the axes: hwc as the image has them, or chw with a plane
            for each channel.
    """
    arguments: dict[str, object] = {
        "mean": mean,
        "deviation": deviation,
        "scale": scale,
        "layout": layout,
    }
    return call("normalize", [image], arguments)


def pad(
    image: Value,
    *,
    top: int = 0,
    left: int = 0,
    bottom: int = 0,
    right: int = 0,
    mode: Literal["constant", "edge", "reflect", "symmetric"] = "constant",
    fill: float = 0.0,
) -> Value:
    """Adds pixels around an image.

    Args:
        image: An image of height, width and channels.
        top: How many rows to add above.
        left: How many columns to add to the left.
        bottom: How many rows to add below.
        right: How many columns to add to the right.
        mode: What lies beyond the edges: one value (constant), the pixel at the edge
            (edge), or the image mirrored, with the pixel at the edge once (reflect) or
            twice (symmetric).
        fill: The value beyond the edges where the mode is constant.
    """
    arguments: dict[str, object] = {
        "top": top,
        "left": left,
        "bottom": bottom,
        "right": right,
        "mode": mode,
        "fill": fill,
    }
    return call("pad", [image], arguments)


def posterize(image: Value, bits: Value) -> Value:
    """Keeps the upper bits of each value of an image.

    Args:
        image: An image of height, width and channels, uint8.
        bits: How many bits, a whole number from 0 to 8; another is an error of the row.
    """
    return call("posterize", [image, bits], {})


def rand_augment(
    image: Value,
    *,
    num_ops: int = 2,
    magnitude: int = 9,
    num_magnitude_bins: int = 31,
    fill: int = 0,
    rng: Rng,
) -> Value:
    """Changes an image by random operations of one strength, as torchvision's
    RandAugment does.

    Args:
        image: An image of height, width and 3 channels, or 1, uint8.
        num_ops: How many operations, one after another.
        magnitude: How strong they are, of the magnitudes there are.
        num_magnitude_bins: How many magnitudes there are.
        fill: The value of what is not in the image.
        rng: What to draw from.
    """
    arguments: dict[str, object] = {
        "num_ops": num_ops,
        "magnitude": magnitude,
        "num_magnitude_bins": num_magnitude_bins,
        "fill": fill,
    }
    return draw(rng, "rand_augment", [image], arguments)


def random_affine(
    image: Value,
    degrees: float,
    *,
    translate: tuple[float, float] = (0.0, 0.0),
    scale: tuple[float, float] = (1.0, 1.0),
    shear: tuple[float, float] = (0.0, 0.0),
    method: Literal["nearest", "bilinear"] = "nearest",
    fill: Sequence[int] = (0,),
    rng: Rng,
) -> Value:
    """Shears, turns, scales and moves an image by random amounts, as torchvision's
    RandomAffine does.

    Args:
        image: An image of height, width and channels, uint8 or float32.
        degrees: The angle is drawn from -degrees to degrees; at most 360.
        translate: How far it is moved at most, left or right, as a share of the width.
            The same up or down, of the height.
        scale: The least scale. The largest scale.
        shear: How many degrees it is sheared at most along rows. The same along
            columns.
        method: How values between pixels are found: nearest or bilinear.
        fill: The colour beyond the edges: one value, or one by channel, as the image
            has them.
        rng: What to draw from.
    """
    translate = pair("random_affine", "translate", translate)
    scale = pair("random_affine", "scale", scale)
    shear = pair("random_affine", "shear", shear)
    arguments: dict[str, object] = {
        "degrees": degrees,
        "translate_x": translate[0],
        "translate_y": translate[1],
        "scale_low": scale[0],
        "scale_high": scale[1],
        "shear_x": shear[0],
        "shear_y": shear[1],
        "method": method,
        "fill": fill,
    }
    return draw(rng, "random_affine", [image], arguments)


def random_crop(
    image: Value,
    size: tuple[int, int],
    *,
    padding: int = 0,
    pad_if_needed: bool = False,
    mode: Literal["constant", "edge", "reflect", "symmetric"] = "constant",
    fill: float = 0.0,
    rng: Rng,
) -> Value:
    """Takes a part of an image from a random place, after padding it.

    Args:
        image: An image of height, width and channels.
        size: The height of the result in pixels. The width of the result in pixels.
        padding: How many pixels to add at each side.
        pad_if_needed: Whether an image that is too small gets more padding; else it is
            an error of the row.
        mode: What lies beyond the edges: one value (constant), the pixel at the edge
            (edge), or the image mirrored, with the pixel at the edge once (reflect) or
            twice (symmetric).
        fill: The value beyond the edges where the mode is constant.
        rng: What to draw from.
    """
    size = pair("random_crop", "size", size)
    arguments: dict[str, object] = {
        "height": size[0],
        "width": size[1],
        "padding": padding,
        "pad_if_needed": pad_if_needed,
        "mode": mode,
        "fill": fill,
    }
    return draw(rng, "random_crop", [image], arguments)


def random_crop_box(
    size: Value,
    *,
    scale: tuple[float, float] = (0.08, 1.0),
    ratio: tuple[float, float] = (0.75, 1.3333333333333333),
    rng: Rng,
) -> Value:
    """Draws a box in an image, of random area and ratio, as torchvision's
    RandomResizedCrop does: top, left, height and width, int64.

    Args:
        size: Height and width of the image, int64.
        scale: The least area of the box, as a share of the image's. The largest such
            area.
        ratio: The least width of the box by its height. The largest such ratio.
        rng: What to draw from.
    """
    scale = pair("random_crop_box", "scale", scale)
    ratio = pair("random_crop_box", "ratio", ratio)
    arguments: dict[str, object] = {
        "scale_low": scale[0],
        "scale_high": scale[1],
        "ratio_low": ratio[0],
        "ratio_high": ratio[1],
    }
    return draw(rng, "random_crop_box", [size], arguments)


def random_flip(
    image: Value,
    *,
    direction: Literal["horizontal", "vertical"] = "horizontal",
    p: float = 0.5,
    rng: Rng,
) -> Value:
    """Mirrors some images, drawn at random.

    Args:
        image: An image of height, width and channels.
        direction: Left to right (horizontal) or top to bottom (vertical).
        p: How likely it is that an image is changed, from 0 to 1.
        rng: What to draw from.
    """
    arguments: dict[str, object] = {"direction": direction, "p": p}
    return draw(rng, "random_flip", [image], arguments)


def random_gaussian_blur(
    image: Value,
    kernel_size: int,
    *,
    sigma: tuple[float, float] = (0.1, 2.0),
    p: float = 0.5,
    rng: Rng,
) -> Value:
    """Blurs some images as gaussian_blur does, each with a sigma of its own.

    Args:
        image: An image of height, width and channels, uint8 or float32.
        kernel_size: How many pixels on a line count for each: odd, at most 99.
        sigma: The least sigma, above 0. The largest sigma.
        p: How likely it is that an image is changed, from 0 to 1.
        rng: What to draw from.
    """
    sigma = pair("random_gaussian_blur", "sigma", sigma)
    arguments: dict[str, object] = {
        "kernel_size": kernel_size,
        "sigma_low": sigma[0],
        "sigma_high": sigma[1],
        "p": p,
    }
    return draw(rng, "random_gaussian_blur", [image], arguments)


def random_grayscale(image: Value, *, p: float = 0.1, rng: Rng) -> Value:
    """Makes some images grey, drawn at random; they keep their channels.

    Args:
        image: An image of height, width and 3 channels, or 1: uint8, or float32 from 0
            to 1.
        p: How likely it is that an image is changed, from 0 to 1.
        rng: What to draw from.
    """
    arguments: dict[str, object] = {"p": p}
    return draw(rng, "random_grayscale", [image], arguments)


def random_resized_crop(
    image: Value,
    size: tuple[int, int],
    *,
    method: Literal["nearest", "bilinear", "bicubic"] = "bilinear",
    antialias: bool = False,
    scale: tuple[float, float] = (0.08, 1.0),
    ratio: tuple[float, float] = (0.75, 1.3333333333333333),
    rng: Rng,
) -> Value:
    """Crops an image to a box as random_crop_box draws it, and resizes what is in it.

    Args:
        image: An image of height, width and channels, uint8.
        size: The height of the result in pixels. The width of the result in pixels.
        method: How values between pixels are found: nearest, bilinear or bicubic.
        antialias: Whether every source pixel counts where the image gets smaller, as in
            Pillow; slower.
        scale: The least area of the box, as a share of the image's. The largest such
            area.
        ratio: The least width of the box by its height. The largest such ratio.
        rng: What to draw from.

    Example:
        >>> image = np.zeros((40, 60, 3), np.uint8)
        >>> rng = mr.Rng(seed=7)
        >>> mr.image.random_resized_crop(image, (32, 32), rng=rng).shape
        (32, 32, 3)
    """
    size = pair("random_resized_crop", "size", size)
    scale = pair("random_resized_crop", "scale", scale)
    ratio = pair("random_resized_crop", "ratio", ratio)
    arguments: dict[str, object] = {
        "height": size[0],
        "width": size[1],
        "method": method,
        "antialias": antialias,
        "scale_low": scale[0],
        "scale_high": scale[1],
        "ratio_low": ratio[0],
        "ratio_high": ratio[1],
    }
    return draw(rng, "random_resized_crop", [image], arguments)


def random_rotation(
    image: Value,
    degrees: float,
    *,
    expand: bool = False,
    method: Literal["nearest", "bilinear"] = "nearest",
    fill: Sequence[int] = (0,),
    rng: Rng,
) -> Value:
    """Turns an image around its middle by a random angle.

    Args:
        image: An image of height, width and channels, uint8 or float32.
        degrees: The angle is drawn from -degrees to degrees; at most 360.
        expand: Whether the result is large enough for all of the turned image; else it
            has the size of the image.
        method: How values between pixels are found: nearest or bilinear.
        fill: The colour beyond the edges: one value, or one by channel, as the image
            has them.
        rng: What to draw from.
    """
    arguments: dict[str, object] = {
        "degrees": degrees,
        "expand": expand,
        "method": method,
        "fill": fill,
    }
    return draw(rng, "random_rotation", [image], arguments)


def resize(
    image: Value,
    size: tuple[int, int],
    *,
    method: Literal["nearest", "bilinear", "bicubic"] = "bilinear",
    antialias: bool = False,
) -> Value:
    """Makes an image of uint8 larger or smaller; pixels are squares, as in Pillow,
    TensorFlow and PyTorch.

    Args:
        image: An image of height, width and channels, uint8.
        size: The height of the result in pixels. The width of the result in pixels.
        method: How values between pixels are found: nearest, bilinear or bicubic.
        antialias: Whether every source pixel counts where the image gets smaller, as in
            Pillow; slower.

    Example:
        >>> mr.image.resize(np.zeros((4, 6, 3), np.uint8), (2, 3)).shape
        (2, 3, 3)
    """
    size = pair("resize", "size", size)
    arguments: dict[str, object] = {
        "height": size[0],
        "width": size[1],
        "method": method,
        "antialias": antialias,
    }
    return call("resize", [image], arguments)


def rotate(
    image: Value,
    angle: Value,
    *,
    expand: bool = False,
    method: Literal["nearest", "bilinear"] = "nearest",
    fill: Sequence[int] = (0,),
) -> Value:
    """Turns an image around its middle.

    Args:
        image: An image of height, width and channels, uint8 or float32.
        angle: Degrees against the clock, a number; what is not finite is an error of
            the row.
        expand: Whether the result is large enough for all of the turned image; else it
            has the size of the image.
        method: How values between pixels are found: nearest or bilinear.
        fill: The colour beyond the edges: one value, or one by channel, as the image
            has them.
    """
    arguments: dict[str, object] = {"expand": expand, "method": method, "fill": fill}
    return call("rotate", [image, angle], arguments)


def size(bytes: Value) -> Value:
    """Reads height and width, int64, from the header of an encoded image.

    Args:
        bytes: The bytes of one JPEG, PNG or WebP file per row.
    """
    return call("image_size", [bytes], {})


def solarize(image: Value, threshold: Value) -> Value:
    """Inverts those values of an image that are at least a threshold.

    Args:
        image: An image of height, width and channels, uint8.
        threshold: A number; 256 leaves every value as it is.
    """
    return call("solarize", [image, threshold], {})


def to_chw(image: Value) -> Value:
    """Makes a plane of each channel of an image.

    Args:
        image: An image of height, width and channels.

    Example:
        >>> mr.image.to_chw(np.zeros((4, 6, 3))).shape
        (3, 4, 6)
    """
    return call("to_chw", [image], {})


def to_hwc(planes: Value) -> Value:
    """Makes pixels of the planes of an image.

    Args:
        planes: An image of channels, height and width.
    """
    return call("to_hwc", [planes], {})


def trivial_augment_wide(
    image: Value,
    *,
    num_magnitude_bins: int = 31,
    fill: int = 0,
    rng: Rng,
) -> Value:
    """Changes an image by one random operation of random strength, as torchvision's
    TrivialAugmentWide does.

    Args:
        image: An image of height, width and 3 channels, or 1, uint8.
        num_magnitude_bins: How many magnitudes there are.
        fill: The value of what is not in the image.
        rng: What to draw from.
    """
    arguments: dict[str, object] = {
        "num_magnitude_bins": num_magnitude_bins,
        "fill": fill,
    }
    return draw(rng, "trivial_augment_wide", [image], arguments)
