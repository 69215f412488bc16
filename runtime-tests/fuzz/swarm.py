"""Swarm testing (Groce, Zhang, Eide, Chen, Regehr, 2012): each module is made of a random subset of the features that its
generator knows, so that a feature that hides another, or makes its inputs too large, is sometimes left out.

What a seed leaves out depends on the seed and the kind of features alone, never on the order of questions."""
import random


class Swarm:
    """`on` false: all features, and not one random number is drawn."""

    def __init__(self, seed, on=True):
        self.seed, self.on, self.chosen = seed, on, {}
        self.share = random.Random(f"swarm {seed}").choice([0.25, 0.5, 0.5, 0.75])

    def of(self, kind, names, always=()):
        """The names, in their order, that modules of this seed have; at least one, and all of `always`."""
        if not self.on:
            return names
        if kind not in self.chosen:
            r = random.Random(f"swarm {self.seed} {kind}")
            kept = {n for n in sorted(set(names)) if r.random() < self.share} | set(always) & set(names)
            self.chosen[kind] = kept or {r.choice(sorted(set(names)))}
        return [n for n in names if n in self.chosen[kind]] or names[:1]
