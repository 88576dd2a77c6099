# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Expected results of a case, computed in pieces so that large tensors need little additional
memory. Works on NumPy arrays and PyTorch tensors."""

import cases
import formula

CHUNK = 4096  # input rows of a piece: whole blocks along both axes


def transposed(x):
    return x.T.copy() if hasattr(x, "copy") else x.t().contiguous()


def read_rows(xp, case, arrays, begin, end):
    """Returns the values to quantize in float32."""
    rows = [formula.widen(xp, a[begin:end], case.dtype) for a in arrays]
    if not case.swiglu:
        return rows[0]
    return formula.to_bf16(xp, formula.swiglu(xp, *rows))


def spans(case, offsets):
    """Yields (begin, end, start in a transposed result) for pieces of rows."""
    if not case.groups:
        offsets, starts = [case.rows], [0]
    else:
        starts = cases.group_starts(offsets)
    first = 0
    for end, start in zip(offsets, starts):
        for begin in range(first, int(end), CHUNK):
            yield begin, min(int(end), begin + CHUNK), int(start) + begin - first
        first = int(end)


def pad(xp, x, multiple):
    """Pads columns with zeros to a multiple."""
    rows, columns = x.shape
    wide = formula.full(xp, x, (rows, -(-columns // multiple) * multiple), 0,
                        xp.float32)
    wide[:, :columns] = x
    return wide


def thread_amax(xp, x):
    """Returns the bits of the largest magnitude; all NaNs have the same bits."""
    bits = int(xp.amax(x.view(xp.int32) & 0x7FFFFFFF))
    return 0x7FFFFFFF if bits > 0x7F800000 else bits


def pieces(xp, case, arrays, offsets=None):
    """Yields (result, rows, columns, values): values are the expected results[result][rows,
    columns]. Elements are yielded in pieces, scales last and whole. Slack columns after the
    last group are excluded."""
    scales = {}
    for axis, rows, columns in case.outputs():
        if case.groups:
            columns = int(cases.group_starts(offsets)[-1])
        scales[axis] = formula.full(xp, arrays[0], (rows // case.block_rows, columns // case.block),
                                    0, xp.float32 if case.exact else xp.uint8)
    encode = cases.ENCODE if case.nvfp4 else None
    packed = 2 if cases.BITS[case.element] == 4 else 1
    largest = 0
    for begin, end, start in spans(case, offsets):
        x = read_rows(xp, case, arrays, begin, end)
        largest = max(largest, thread_amax(xp, x))
        for i, axis in enumerate(case.axes):
            y = x if axis == 1 else transposed(x)
            width = y.shape[1]
            if case.groups:
                y = pad(xp, y, cases.GROUP_TILE)
            if case.exact:
                e, s = formula.quantize_f32(xp, y, case.element, case.block_rows, case.block)
            else:
                e, s = formula.quantize(xp, y, case.element, encode, width,
                                        case.square, case.block)
            if axis == 1:
                first = begin // case.block_rows
                scales[axis][first:first + s.shape[0]] = s
                yield 2 * i, slice(begin, end), slice(None), e
            else:
                first = start // case.block
                scales[axis][:, first:first + s.shape[1]] = s
                first = start // packed
                yield (2 * i, slice(None), slice(first, first + e.shape[1]), e)
    if case.amax:
        bits = formula.full(xp, arrays[0], (1, 1), largest, xp.int32)
        yield case.results - 1, slice(None), slice(None), bits.view(xp.uint8)
    for i, axis in enumerate(case.axes):
        s = scales[axis]
        if case.exact:
            yield 2 * i + 1, slice(None), slice(None), formula.lay_out_f32(xp, s, case.block_rows)
            continue
        tiled = case.layout == "sf_128x4" or case.groups
        yield 2 * i + 1, slice(None), slice(None), (formula.tile(xp, s) if tiled
                                                    else s)


def count_unequal(xp, case, arrays, results, offsets=None):
    """Returns the number of wrong bytes in each result."""
    wrong = [0] * len(results)
    for i, rows, columns, values in pieces(xp, case, arrays, offsets):
        found = results[i][rows, columns]
        if case.groups and i % 2:  # tiles after the last group are slack
            found = found[:, :values.shape[1]]
        if tuple(found.shape) != tuple(values.shape):
            raise ValueError(f"{case.name}: expected result {i} of shape "
                             f"{tuple(values.shape)}, found {tuple(found.shape)}")
        wrong[i] += int((found != values).sum())
    return wrong
