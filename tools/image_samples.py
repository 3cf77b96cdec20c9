"""Makes the sample images that the tests of millrace/kernels/image read.

Pillow writes each sample and says what its pixels are, so that our decoders and our
resize are compared with an implementation that is not ours. Beside x.jpg, x.png or
x.webp lies x.rgb: the pixels, three bytes each. What Pillow makes of resize.png in
other sizes is in resize_METHOD_HEIGHTxWIDTH.rgb.

    .venv/bin/python tools/image_samples.py
"""

import random
from pathlib import Path
from typing import Any

from PIL import Image

FOLDER = Path(__file__).parent.parent / "millrace/kernels/image/testdata"
SIZE = (37, 29)  # Width and height; multiples of nothing.
RESIZED = [(23, 19), (80, 64), (41, 12), (7, 37), (1, 1), (41, 37)]
METHODS = {
    "bilinear": Image.Resampling.BILINEAR,
    "bicubic": Image.Resampling.BICUBIC,
}


def picture(size: tuple[int, int], mode: str = "RGB", seed: int = 1) -> Image.Image:
    """Return a picture with slopes, edges and noise, the same each time."""
    width, height = size
    draw = random.Random(seed)
    channels = Image.new(mode, (1, 1)).getbands()
    pixels = bytearray()
    for y in range(height):
        for x in range(width):
            for channel in range(len(channels)):
                slope = (x * (3 + channel) + y * (5 - channel)) % 256
                edge = 90 if (x // 6 + y // 5 + channel) % 2 else 0
                noise = draw.randrange(40)
                pixels.append(min(255, slope // 2 + edge + noise))
    return Image.frombytes(mode, size, bytes(pixels))


def save(name: str, image: Image.Image, **options: Any) -> None:
    """Write a sample, and what its pixels are once it is read again."""
    path = FOLDER / name
    image.save(path, **options)
    with Image.open(path) as read:
        path.with_suffix(".rgb").write_bytes(read.convert("RGB").tobytes())


def save_jpegs() -> None:
    """Write the kinds of JPEG that Pillow can write."""
    colour = picture(SIZE)
    for name, subsampling in [("444", 0), ("422", 1), ("420", 2)]:
        save(f"jpeg_{name}.jpg", colour, quality=85, subsampling=subsampling)
    save("jpeg_progressive.jpg", colour, quality=80, progressive=True)
    save("jpeg_restarts.jpg", colour, quality=80, restart_marker_rows=1)
    save("jpeg_grey.jpg", picture(SIZE, "L"), quality=85)
    save("jpeg_inks.jpg", picture(SIZE, "CMYK"), quality=85)


def save_pngs() -> None:
    """Write the kinds of PNG that Pillow can write."""
    save("png_colour.png", picture(SIZE))
    save("png_grey.png", picture(SIZE, "L"))
    save("png_bits.png", picture(SIZE, "L").convert("1"))
    save("png_alpha.png", picture(SIZE, "RGBA"))
    save("png_grey_alpha.png", picture(SIZE, "LA"))
    palette = picture(SIZE).quantize(11)
    save("png_palette.png", palette, bits=4)
    save("png_palette_clear.png", palette, transparency=3)
    save("png_profile.png", picture(SIZE), icc_profile=bytes(300))


def save_webps() -> None:
    """Write the kinds of WebP that Pillow can write, and one that is no one image."""
    save("webp_lossy.webp", picture(SIZE), quality=80)
    save("webp_lossless.webp", picture(SIZE), lossless=True)
    save("webp_alpha.webp", picture(SIZE, "RGBA"), quality=80)
    frames = [picture(SIZE, seed=3), picture(SIZE, seed=4)]
    path = FOLDER / "webp_animation.webp"
    frames[0].save(path, save_all=True, append_images=frames[1:], duration=100)


def save_resized() -> None:
    """Write what Pillow's resize gives."""
    image = picture((41, 37), seed=2)
    save("resize.png", image)
    for method, resampling in METHODS.items():
        for width, height in RESIZED:
            resized = image.resize((width, height), resampling)
            name = f"resize_{method}_{height}x{width}.rgb"
            (FOLDER / name).write_bytes(resized.tobytes())


def main() -> None:
    """Write all samples."""
    FOLDER.mkdir(exist_ok=True)
    save_jpegs()
    save_pngs()
    save_webps()
    save_resized()


if __name__ == "__main__":
    main()
