# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Text of an artificial language, generated on the model's device.

A sequence has a topic that changes from time to time. A symbol is drawn

- from the successors of the previous symbol in the current topic, which a model must infer from
  the preceding text;
- or from the successors of the pair of the two previous symbols, whose table takes long to learn;
- or from all symbols.

Learning is gradual by design. A model acquires some skills, such as copying distant text, suddenly
at a random step that determines the loss long afterwards, so a language that rewards such skills
would tell little about the difference between two recipes.

The tables define the language and are the same for all seeds. A seed selects the text. The text is
generated in parts with their own seeds, so a longer text starts with the shorter text."""

import torch

LANGUAGE, PART = 20261122, 8192
TOPICS, SUCCESSORS, PAIR_SUCCESSORS = 16, 8, 4
SUCCESSOR, PAIR = 0.35, 0.55  # probabilities; else any symbol
NEW_TOPIC = 1 / 100  # at each position


class Language:
    """Successor tables of a language with `symbols` symbols, stored on `device`."""

    def __init__(self, symbols, device):
        self.symbols, self.device = symbols, torch.device(device)
        generator = torch.Generator().manual_seed(LANGUAGE)
        self.successors = self._table(generator, TOPICS, symbols, SUCCESSORS)
        self.pair_successors = self._table(generator, symbols, symbols, PAIR_SUCCESSORS)

    def _table(self, generator, *shape):
        # The square makes some symbols much more frequent than others.
        uniform = torch.rand(shape, generator=generator).square()
        return (uniform * self.symbols).to(torch.int64).to(self.device)

    def text(self, stream, count, length):
        """Returns `count` sequences of a stream as int16, [count, length]."""
        parts = [self._part(stream, i, length) for i in range(-(-count // PART))]
        return torch.cat(parts)[:count]

    def _part(self, stream, index, length):
        generator = torch.Generator(self.device)
        generator.manual_seed((stream << 32) + index)
        text = torch.empty(length, PART, dtype=torch.int16, device=self.device)
        draw = _Draw(generator, PART, self.device)
        topic = draw.below(TOPICS)
        before, last = draw.below(self.symbols), draw.below(self.symbols)
        for place in range(length):
            topic = torch.where(draw.chance(NEW_TOPIC), draw.below(TOPICS), topic)
            text[place] = symbol = self._new(draw, topic, before, last)
            before, last = last, symbol
        return text.T.contiguous()

    def _new(self, draw, topic, before, last):
        one = self.successors[topic, last, draw.geometric(SUCCESSORS)]
        two = self.pair_successors[before, last, draw.geometric(PAIR_SUCCESSORS)]
        which = draw.uniform()
        return torch.where(which < SUCCESSOR, one, torch.where(
            which < SUCCESSOR + PAIR, two, draw.below(self.symbols)))


class _Draw:
    """Random numbers, one for each sequence."""

    def __init__(self, generator, count, device):
        self.generator, self.count, self.device = generator, count, device

    def uniform(self):
        return torch.rand(self.count, generator=self.generator, device=self.device)

    def chance(self, probability):
        return self.uniform() < probability

    def below(self, bound):
        return (self.uniform() * bound).to(torch.int64).clamp(max=bound - 1)

    def geometric(self, bound):
        """Returns 0 for half of the sequences, 1 for a quarter, and so on."""
        exponent = -torch.log2(self.uniform().clamp(min=2.0**-30))
        return exponent.to(torch.int64).clamp(max=bound - 1)
