"""Counts the bytes that a rank sends when a layer on 8 to 64 ranks dispatches and collects rows. Without slots, they grow
with the number of ranks; with slots for the tokens that each rank needs, with the ranks of a token's experts.

RUN: rm -rf %t && mkdir %t
RUN: %python %s mx-compile %t
"""

import json
import pathlib
import subprocess
import sys

import numpy as np

from mx_compiler._ops.experts import _exchange_text

EXPERTS, TOKENS, HIDDEN = 64, 8192, 7168
rng = np.random.default_rng(5)


def route(ranks, choices):
    """Returns whether each token of a rank has an expert on each rank, for a random routing."""
    ids = rng.permuted(np.tile(np.arange(EXPERTS), (TOKENS, 1)), axis=1)[:, :choices]
    return np.stack([(ids // (EXPERTS // ranks) == rank).any(axis=1) for rank in range(ranks)], axis=1)


def count_rows(ranks, choices, slots):
    """Returns the rows that a rank sends to other ranks for each token, once dispatched and once collected."""
    file = pathlib.Path(sys.argv[2], f"{ranks}-{choices}-{slots}.mlir")
    file.write_text(_exchange_text(ranks, TOKENS, EXPERTS, HIDDEN, choices, slots))
    subprocess.run([sys.argv[1], file, "-o", file.with_suffix(""), "--chip=sm_90a", "--ptxas=none", "--quiet",
                    "--entry=dispatch", "--entry=collect"], check=True)
    entries = json.loads(pathlib.Path(file.with_suffix(""), "manifest.json").read_text())["entries"]
    sent = sum(step["bytes"] for entry in entries for step in entry["steps"]
               if "all_gather" in step or "all_to_all" in step)
    return sent * (ranks - 1) / TOKENS / (2 * 2 * HIDDEN)


for choices in 2, 8:
    for ranks in 8, 16, 32, 64:
        owners = route(ranks, choices)
        slots, needed = int(owners.sum(axis=0).max()), owners.sum() / TOKENS * (ranks - 1) / ranks
        whole, packed = count_rows(ranks, choices, None), count_rows(ranks, choices, slots)
        print(f"top {choices} on {ranks} ranks, {slots} slots: {needed:.2f} rows of a token for other ranks, "
              f"{whole:.2f} without slots, {packed:.2f} with slots")
        assert 1 < whole / (ranks - 1) < 1.05
        assert packed < 1.3 * needed <= 1.3 * choices  # the fullest rank determines the slots
