"""Where the kernels stand in the Python package, for python_faces.py: the hand's part.

The catalog says all about a kernel or operator but how it is best called in Python.
"""

# What each module of kernels is about. Its name is what users write: mr.image.resize.
MODULES = {
    "example": "Records of tf.train.Example and tf.train.SequenceExample.",
    "image": "Images: decoding, geometry, colour and random changes.",
    "io": "Files that rows name.",
    "json": "Values in JSON texts.",
    "math": "Numbers and arrays: arithmetic, comparison, reductions and shapes.",
    "regex": "Regular expressions, in RE2's syntax.",
    "text": "Texts: strings and bytes.",
    "time": "Dates and times, as numbers since 1970.",
}

_IMAGE = """
adjust_brightness adjust_contrast adjust_hue adjust_saturation adjust_sharpness affine
auto_augment autocontrast center_crop color_jitter crop decode_region decode_resized
draw_cutmix draw_mixup equalize flip_horizontal flip_vertical gaussian_blur grayscale
invert mix_images mix_labels normalize pad posterize rand_augment random_affine
random_crop random_crop_box random_flip random_gaussian_blur random_grayscale
random_resized_crop random_rotation resize rotate solarize to_chw to_hwc
trivial_augment_wide
"""
_MATH = """
absolute add all any argmax argsort at bucketize cast ceil clip concat cumsum divide
equal exp expand_dims fill floor floor_divide greater greater_equal hash_bucket
is_finite is_nan length less less_equal log log1p max maximum mean min minimum modulo
multiply negate not_equal one_hot pad_to power range reshape round shape sigmoid slice
sort sqrt squeeze stack subtract sum take tanh transpose where
"""
_TEXT = """
byte_length character_length check_utf8 contains ends_with is_utf8 join lower replace
split starts_with strip to_number to_text upper
"""

# The module and name of each kernel; those that rng draws are methods of it.
PLACES = {
    **{name: ("image", name) for name in _IMAGE.split()},
    **{name: ("math", name) for name in _MATH.split()},
    **{name: ("text", name) for name in _TEXT.split()},
    "and": ("math", "logical_and"),
    "date_part": ("time", "part"),
    "decode_image": ("image", "decode"),
    "encode_image": ("image", "encode"),
    "example_features": ("example", "features"),
    "example_floats": ("example", "floats"),
    "example_ints": ("example", "ints"),
    "example_texts": ("example", "texts"),
    "image_size": ("image", "size"),
    "json_bool": ("json", "bool_"),
    "json_float": ("json", "float_"),
    "json_floats": ("json", "floats"),
    "json_has": ("json", "has"),
    "json_int": ("json", "int_"),
    "json_ints": ("json", "ints"),
    "json_text": ("json", "text"),
    "json_texts": ("json", "texts"),
    "not": ("math", "logical_not"),
    "or": ("math", "logical_or"),
    "parse_date": ("time", "parse"),
    "read_file": ("io", "read"),
    "regex_extract": ("regex", "extract"),
    "regex_match": ("regex", "match"),
    "regex_replace": ("regex", "replace"),
    "regex_split": ("regex", "split"),
    "sequence_features": ("example", "sequence_features"),
    "sequence_floats": ("example", "sequence_floats"),
    "sequence_ints": ("example", "sequence_ints"),
    "sequence_texts": ("example", "sequence_texts"),
    "text_join": ("text", "concat"),
    "text_slice": ("text", "slice"),
}
DRAWN_BY_RNG = {
    *("bernoulli", "choice", "integers", "normal", "permutation"),
    *("truncated_normal", "uniform"),
}

# What a module has besides kernels, written by hand in another.
BESIDE = {"example": ("millrace._example", ("Feature", "parse"))}

# Two arguments that are one in Python: size=(height, width).
PAIRS = {
    "size": ("height", "width"),
    "scale": ("scale_low", "scale_high"),
    "ratio": ("ratio_low", "ratio_high"),
    "sigma": ("sigma_low", "sigma_high"),
    "translate": ("translate_x", "translate_y"),
    "shear": ("shear_x", "shear_y"),
}

# Optional arguments that need no name, besides those that must be given.
POSITIONAL = {"axis", "count", "dtype", "format", "path", "separator"}

# Operators whose methods and functions are written by hand, for their arguments are
# not those that users have.
BY_HAND = {
    "from_arrays",
    "from_generator",
    "from_rows",
    "load",
    "map_python",
    "write_rows",
}

# Methods and functions of which only the signature and the beginning differ.
OWN_PARAMETERS = {
    "range": ["start: int", "stop: int | None = None", "step: int = 1"],
    "rename": ["names: Mapping[str, str]"],
}
OWN_DOCS = {
    "range": {
        "start": "The first number; with one bound alone, where to stop.",
        "stop": "Where to stop; not given itself.",
        "step": "From one number to the next; may be negative.",
    },
    "rename": {"names": "The new name of each field, by the old one."},
}
OWN_ARGUMENTS = {
    "range": {
        "start": "0 if stop is None else start",
        "stop": "start if stop is None else stop",
        "step": "step",
    },
    "rename": {"from": "list(names)", "to": "list(names.values())"},
}

# Shown in docstrings, and run by the tests.
EXAMPLES = {
    "add": (">>> mr.math.add(np.array([1, 2]), 3)", "array([4, 5])"),
    "byte_length": ('>>> int(mr.text.byte_length("häuser"))', "7"),
    "cast": (">>> mr.math.cast(np.array([1.7, -2.5]), int)", "array([ 1, -2])"),
    "clip": (">>> mr.math.clip(np.array([1, 5, 9]), 2, 6)", "array([2, 5, 6])"),
    "concat": (">>> mr.math.concat(np.arange(2), np.arange(2))", "array([0, 1, 0, 1])"),
    "date_part": ('>>> int(mr.time.part(np.int64(0), "year"))', "1970"),
    "decode_image": (
        '>>> png = mr.image.encode(np.zeros((4, 6, 3), np.uint8), format="png")',
        ">>> mr.image.decode(png).shape",
        "(4, 6, 3)",
    ),
    "json_int": (""">>> int(mr.json.int_('{"a": [5, 7]}', "a[1]"))""", "7"),
    "json_texts": (
        """>>> mr.json.texts('{"names": ["x", "y"]}', "names")""",
        "['x', 'y']",
    ),
    "one_hot": (
        ">>> mr.math.one_hot(np.array([0, 2]), 3)[1]",
        "array([0., 0., 1.], dtype=float32)",
    ),
    "parse_date": ('>>> int(mr.time.parse("1970-01-02"))', "86400"),
    "random_resized_crop": (
        ">>> image = np.zeros((40, 60, 3), np.uint8)",
        ">>> rng = mr.Rng(seed=7)",
        ">>> mr.image.random_resized_crop(image, (32, 32), rng=rng).shape",
        "(32, 32, 3)",
    ),
    "regex_extract": ('>>> mr.regex.extract("id-42", "[0-9]+")', "'42'"),
    "resize": (
        ">>> mr.image.resize(np.zeros((4, 6, 3), np.uint8), (2, 3)).shape",
        "(2, 3, 3)",
    ),
    "split": ('>>> mr.text.split("a b c")', "['a', 'b', 'c']"),
    "sum": (">>> mr.math.sum(np.ones((2, 3)), axis=0)", "array([2., 2., 2.])"),
    "text_join": ('>>> mr.text.concat("a", "b")', "'ab'"),
    "to_chw": (">>> mr.image.to_chw(np.zeros((4, 6, 3))).shape", "(3, 4, 6)"),
    "upper": ('>>> mr.text.upper("abc")', "'ABC'"),
    "where": (
        ">>> mr.math.where(np.array([True, False]), 1, 2)",
        "array([1, 2])",
    ),
}
