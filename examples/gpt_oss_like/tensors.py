# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Tensors of a model except experts: shapes by key, as in checkpoints."""


def model_tensors(config):
    """Returns the tensors outside of layers."""
    return {
        "model.embed_tokens.weight": (config.vocab_size, config.hidden_size),
        "model.norm.weight": (config.hidden_size,),
        "lm_head.weight": (config.vocab_size, config.hidden_size),
    }


def layer_tensors(config):
    """Returns the tensors of a layer; keys omit the prefix `model.layers.N.`."""
    hidden, experts = config.hidden_size, config.num_local_experts
    queries = config.num_attention_heads * config.head_dim
    keys = config.num_key_value_heads * config.head_dim
    tensors = {
        "input_layernorm.weight": (hidden,),
        "post_attention_layernorm.weight": (hidden,),
        "self_attn.sinks": (config.num_attention_heads,),
    }
    matrices = {"self_attn.q_proj": (queries, hidden), "self_attn.k_proj": (keys, hidden),
                "self_attn.v_proj": (keys, hidden), "self_attn.o_proj": (hidden, queries),
                "mlp.router": (experts, hidden)}
    for name, shape in matrices.items():
        tensors |= {f"{name}.weight": shape, f"{name}.bias": shape[:1]}
    return tensors


def layer_prefix(layer):
    return f"model.layers.{layer}."
