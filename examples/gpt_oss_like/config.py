# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The sizes of a model as config.json of a checkpoint has them, by the names there."""

import dataclasses
import typing


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
    # Each second layer sees so many positions, beginning with the first layer.
    sliding_window: int
    rms_norm_eps: float = 1e-5
    swiglu_limit: float = 7.0
    rope_theta: float = 150000.0
    rope_scaling: dict = dataclasses.field(default_factory=lambda: yarn(4096))
    layer_types: typing.Optional[list] = None

    def window(self, layer):
        """How many positions a layer sees, None for all."""
        types = self.layer_types or ["sliding_attention", "full_attention"]
        return self.sliding_window if types[layer % len(types)] == "sliding_attention" else None

    def to_json(self):
        return {"model_type": "gpt_oss", **dataclasses.asdict(self)}

    @classmethod
    def from_json(cls, found, file):
        """Of the object that config.json has; other fields there are left alone."""
        fields = {field.name: field for field in dataclasses.fields(cls)}
        # Newer checkpoints have both in one object.
        rope = found.get("rope_parameters") or {}
        found = {**found, **({"rope_theta": rope["rope_theta"]} if "rope_theta" in rope else {}),
                 **({"rope_scaling": rope} if rope else {})}
        missing = [name for name, field in fields.items() if name not in found
                   and field.default is field.default_factory is dataclasses.MISSING]
        if missing:
            raise ValueError(f"{file}: expected fields of a model of gpt-oss, found none of the "
                             f"name {', '.join(missing)}")
        return cls(**{name: value for name, value in found.items()
                      if name in fields and value is not None})


_GPT_OSS = dict(hidden_size=2880, intermediate_size=2880, num_experts_per_tok=4,
                num_attention_heads=64, num_key_value_heads=8, head_dim=64,
                vocab_size=201088, sliding_window=128)
SIZES = {
    # Short enough a context that all of YaRN matters within a few tokens.
    "tiny": Config(num_hidden_layers=2, hidden_size=192, intermediate_size=320,
                   num_local_experts=4, num_experts_per_tok=2, num_attention_heads=4,
                   num_key_value_heads=2, head_dim=32, vocab_size=96, sliding_window=6,
                   rope_theta=1000.0, rope_scaling=yarn(512)),
    "20b": Config(num_hidden_layers=24, num_local_experts=32, **_GPT_OSS),
    "120b": Config(num_hidden_layers=36, num_local_experts=128, **_GPT_OSS),
}
