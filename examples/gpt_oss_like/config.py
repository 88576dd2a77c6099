# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Model sizes. The fields have the same names as in a checkpoint's config.json."""

import dataclasses
import json
import sys
import typing

from field_rules import OBJECT, check


def yarn(trained_length):
    return {"rope_type": "yarn", "factor": 32.0, "beta_fast": 32.0, "beta_slow": 1.0,
            "truncate": False, "original_max_position_embeddings": trained_length}


@dataclasses.dataclass(frozen=True)
class Config:
    num_hidden_layers: int
    hidden_size: int
    intermediate_size: int
    num_local_experts: int
    num_experts_per_tok: int
    num_attention_heads: int
    num_key_value_heads: int
    head_dim: int
    vocab_size: int
    # Window of the first, third, fifth, ... layer, in positions.
    sliding_window: int
    rms_norm_eps: float = 1e-5
    swiglu_limit: float = 7.0
    rope_theta: float = 150000.0
    rope_scaling: dict = dataclasses.field(default_factory=lambda: yarn(4096))
    layer_types: typing.Optional[list] = None

    def window(self, layer):
        """Returns the attention window of a layer in positions, or None if attention is full."""
        types = self.layer_types or ["sliding_attention", "full_attention"]
        return self.sliding_window if types[layer % len(types)] == "sliding_attention" else None

    def to_json(self):
        return {"model_type": "gpt_oss", **dataclasses.asdict(self)}

    @classmethod
    def of_checkpoint(cls, checkpoint):
        """Reads the config.json in the folder of a gpt_oss.Checkpoint."""
        path = checkpoint.path
        file = (path if path.is_dir() else path.parent) / "config.json"
        if not file.is_file():
            raise FileNotFoundError(f"{file}: expected this file beside the safetensors, "
                                    "found none")
        return cls.from_json(checkpoint.config, file)

    @classmethod
    def from_json(cls, found, file):
        """Converts the parsed object of config.json and ignores unknown fields."""
        check(found, MODEL, f"{file}: ")
        found = {**found, **rope_fields(found, file)}
        optional = {field.name for field in dataclasses.fields(cls)
                    if field.default is not field.default_factory}
        check(found, FIELDS, f"{file}: ", optional)
        return cls(**{field.name: found[field.name] for field in dataclasses.fields(cls)
                      if field.name in found})


def rope_fields(found, file):
    """Returns the fields rope_scaling and rope_theta of `found`. Newer checkpoints store
    both fields in an object, rope_parameters. A null object means no scaling."""
    name = "rope_scaling" if found.get("rope_parameters") is None else "rope_parameters"
    if name not in found:
        return {}
    rope = {"rope_type": "default"} if found[name] is None else found[name]
    check({name: rope}, {name: OBJECT}, f"{file}: ")
    check(rope, ROPE, f"{file}: {name}.")
    if rope["rope_type"] == "yarn":
        check(rope, YARN, f"{file}: {name}.", optional={"truncate"})
    theta = {"rope_theta": rope["rope_theta"]} if "rope_theta" in rope else {}
    return {"rope_scaling": rope, **theta}


# --- Rule of each field: description, and predicate on value and all fields -----------

MOST = 2**31 - 1


def is_count(x):
    return type(x) is int and 1 <= x <= MOST


def is_finite(x):
    return type(x) in (int, float) and abs(x) <= sys.float_info.max


def above(least):
    return f"a number above {least}", lambda x, _: is_finite(x) and x > least


def multiple(of):
    return f"a multiple of {of}, at least {of}", lambda x, _: is_count(x) and x % of == 0


def one_of(*words):
    return " or ".join(map(json.dumps, words)), lambda x, _: x in words


def are_types(x, fields):
    return x is None or (type(x) is list and len(x) == fields["num_hidden_layers"]
                         and all(word in LAYER_TYPES for word in x))


COUNT = f"an integer from 1 to {MOST}", lambda x, _: is_count(x)
LAYER_TYPES = "sliding_attention", "full_attention"
MODEL = {"model_type": one_of("gpt_oss")}
# A rule may read earlier fields.
FIELDS = {
    "num_hidden_layers": COUNT,
    "hidden_size": multiple(32),
    "intermediate_size": multiple(32),
    "num_local_experts": COUNT,
    "num_experts_per_tok": (
        "an integer from 1 to num_local_experts",
        lambda x, fields: is_count(x) and x <= fields["num_local_experts"]),
    "num_key_value_heads": COUNT,
    "num_attention_heads": (
        "a multiple of num_key_value_heads",
        lambda x, fields: is_count(x) and x % fields["num_key_value_heads"] == 0),
    "head_dim": multiple(2),
    "vocab_size": COUNT,
    "sliding_window": COUNT,
    "rms_norm_eps": above(0),
    "swiglu_limit": above(0),
    "rope_theta": above(1),
    "layer_types": (f"{' or '.join(LAYER_TYPES)} for each of num_hidden_layers",
                    are_types),
}
ROPE = {"rope_type": one_of("yarn", "default")}
YARN = {
    "factor": ("a number of at least 1", lambda x, _: is_finite(x) and x >= 1),
    "beta_fast": above(0),
    "beta_slow": above(0),
    "truncate": ("true or false", lambda x, _: type(x) is bool),
    "original_max_position_embeddings": COUNT,
}


_GPT_OSS = dict(hidden_size=2880, intermediate_size=2880, num_experts_per_tok=4,
                num_attention_heads=64, num_key_value_heads=8, head_dim=64,
                vocab_size=201088, sliding_window=128)
SIZES = {
    # The trained context is short, so that all parts of YaRN matter within a few tokens.
    "tiny": Config(num_hidden_layers=2, hidden_size=192, intermediate_size=320,
                   num_local_experts=4, num_experts_per_tok=2, num_attention_heads=4,
                   num_key_value_heads=2, head_dim=32, vocab_size=96, sliding_window=6,
                   rope_theta=1000.0, rope_scaling=yarn(512)),
    "20b": Config(num_hidden_layers=24, num_local_experts=32, **_GPT_OSS),
    "120b": Config(num_hidden_layers=36, num_local_experts=128, **_GPT_OSS),
}
