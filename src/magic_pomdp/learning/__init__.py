"""Learning macro-actions (MAGIC: Lee, Cai, Hsu 2021).

A generator maps belief and context to the parameters of a macro-action set; a critic learns what value the planner
finds with such a set, and the generator follows the critic uphill. Only `networks`, `objectives`, `learner`,
`state`, `trainer` and `ablation` need torch: a robot plans with a trained generator without it.
"""
