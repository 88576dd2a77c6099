"""Rows of the corpus: the arguments and the expected results of each program."""

import dataclasses

import ml_dtypes
import numpy as np
from formats import Codes, Scales, ref

PROGRAMS = {}
BF16 = ml_dtypes.bfloat16


@dataclasses.dataclass
class Program:
    make: callable  # of a generator of random numbers: the arguments
    oracle: callable  # of the values of the arguments: the results
    entry: str = "main"
    passes: tuple = ()  # options of mx-opt before
    refused: str = None  # words of the message
    reason: str = None
    results: int = 1  # of a refused program
    status: int = 2  # expected exit status


def runs(make, entry="main", passes=()):
    """Row of a program. The decorated function is the oracle and bears the program's name."""

    def add(oracle):
        PROGRAMS[oracle.__name__] = Program(make, oracle, entry, tuple(passes))
        return oracle

    return add


def refuses(name, make, words, reason, **options):
    """Row of a program that fails with a message: expected words of the message, and the reason printed in the
    table."""
    PROGRAMS[name] = Program(make, None, refused=words, reason=reason, **options)


# Arguments. Small whole numbers are exact in all block formats of 8 bits, and so are sums of their products in f32.


def whole(rng, *shape, dtype=BF16, most=2):
    return rng.integers(-most, most + 1, shape).astype(dtype)


def normal(rng, *shape, dtype=np.float32, scale=1.0):
    return (rng.standard_normal(shape) * scale).astype(np.float32).astype(dtype)


def weights(rng, *shape, element="f8E4M3FN", tiled=True, scale=1.0):
    """Numbers of a normal distribution, quantized by the definition: codes and scales."""
    codes, bytes_ = ref.quantize((rng.standard_normal(shape) * scale).astype(np.float32), element)
    return Codes(codes, element), Scales(bytes_, tiled)


def nvfp4(rng, *shape, tiled=True, factor=1.0):
    codes, bytes_ = ref.quantize(rng.standard_normal(shape).astype(np.float32), "f4E2M1FN", nvfp4_encode=factor)
    return Codes(codes, "f4E2M1FN"), Scales(bytes_, tiled, nvfp4=True)
