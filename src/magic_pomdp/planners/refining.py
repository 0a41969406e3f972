"""Refining a macro-action set while planning.

A search soon knows which macro-actions are good for the first choice. So it may stop after a share of its budget, add
variations of the best ones to the set, and search anew with the rest. The variations are for the first choice alone:
they fit what is believed now.
"""

import numpy as np

from magic_pomdp.core.macro_actions import MacroActions
from magic_pomdp.core.randomness import new_stream, normal
from magic_pomdp.macros.variations import Variations

VARIED, EACH = 2, 4
"""How many of the best macro-actions are varied, and how many variations each has."""
ENOUGH = 20
"""Nodes that the first search must have expanded: with fewer it knows too little, and there is no time for another."""
SPREAD = 0.15
"""Standard deviation of what is added to each parameter of a variation."""


def refined(macro_actions: MacroActions, variations: Variations, values: np.ndarray, key: np.uint64) -> MacroActions:
    """A set and variations of its best macro-actions, as the values, shape (count,), tell: −∞ for one that nobody has
    looked at. The set itself if there is nothing to vary."""
    able = np.flatnonzero((variations.rows >= 0) & np.isfinite(values))
    best = able[np.argsort(-values[able], kind="stable")[:VARIED]]
    if len(best) == 0:
        return macro_actions
    chosen, random = np.repeat(best, EACH), new_stream(key)
    noise = [[normal(random) for _ in range(variations.space.size)] for _ in chosen]
    varied = variations.around(chosen, SPREAD * np.array(noise))
    return varied.before(macro_actions)
