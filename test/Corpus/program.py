"""Rows of the corpus: the arguments and the oracle of each program."""

import dataclasses

import ml_dtypes
import numpy as np
from formats import Codes, Scales, ref

PROGRAMS = {}
BF16 = ml_dtypes.bfloat16


@dataclasses.dataclass
class Program:
    make: callable  # creates the arguments from a random generator
    oracle: callable  # computes the results from the values of the arguments
    entry: str = "main"
    passes: tuple = ()  # options of the mx-opt run before mx-run
    refused: str = None  # expected words of the message
    reason: str = None
    results: int = 1  # number of results of a refused program
    status: int = 2  # expected exit status


def runs(make, entry="main", passes=()):
    """Adds the row of a program. The decorated function is the oracle and has the program's name."""

    def add(oracle):
        PROGRAMS[oracle.__name__] = Program(make, oracle, entry, tuple(passes))
        return oracle

    return add


def refuses(name, make, words, reason, **options):
    """Adds the row of a refused program. `words` must occur in the message, and the table contains
    `reason`."""
    PROGRAMS[name] = Program(make, None, refused=words, reason=reason, **options)


# Arguments. All 8-bit block formats represent small integers exactly, and f32 sums of their products are exact.


def whole(rng, *shape, dtype=BF16, most=2):
    return rng.integers(-most, most + 1, shape).astype(dtype)


def normal(rng, *shape, dtype=np.float32, scale=1.0):
    return (rng.standard_normal(shape) * scale).astype(np.float32).astype(dtype)


def weights(rng, *shape, element="f8E4M3FN", tiled=True, scale=1.0):
    """Quantizes normally distributed numbers according to the definition. Returns codes and scales."""
    codes, bytes_ = ref.quantize((rng.standard_normal(shape) * scale).astype(np.float32), element)
    return Codes(codes, element), Scales(bytes_, tiled)


def nvfp4(rng, *shape, tiled=True, factor=1.0):
    codes, bytes_ = ref.quantize(rng.standard_normal(shape).astype(np.float32), "f4E2M1FN", nvfp4_encode=factor)
    return Codes(codes, "f4E2M1FN"), Scales(bytes_, tiled, nvfp4=True)
