"""Checks that training losses in MXFP8 decrease as in bf16.

usage: compare_losses.py LOSSES.json
"""

import json
import sys

import numpy as np

with open(sys.argv[1]) as file:
    losses = {name: np.array(v) for name, v in json.load(file)["losses"].items()}
apart = np.abs(losses["mxfp8"] - losses["bf16"]).max()
fall = {name: v[:3].mean() - v[-3:].mean() for name, v in losses.items()}
print(f"at most {apart:.3f} apart, having fallen by {fall}")
# The network must learn, and noise may change the decrease only slightly.
assert fall["bf16"] > 0.5 and apart < 0.1 * fall["bf16"]
