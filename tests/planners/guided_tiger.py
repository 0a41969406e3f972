"""Tiger with a guide. Its parameters make it what a test needs, so that it is compiled once for all of them."""

import math

from magic_pomdp.tasks.tiger import LISTEN, Tiger


class GuidedTiger(Tiger):
    """Listens for ever, or whatever else its guide is told to name. The game may be worth something when nobody looks
    at it any more, and its bound infinite."""

    name = "guided-tiger"
    if_left: int = LISTEN
    if_right: int = LISTEN
    later: float = 0.0
    boundless: bool = False

    def guide(self, context, state, macro_actions, lengths):
        return self.if_right if state[0] > 0.5 else self.if_left

    def value_beyond(self, context, state):
        return self.later

    def upper_bound(self, context, state):
        return math.inf if self.boundless else self.safe_reward / (1.0 - self.discount)
