"""`magic-pomdp`, with one small table instead of the paper's: two evaluations, a training, and a recording. All of it
is counted in steps, so that it comes out the same every time."""

import sys

from magic_pomdp import Budget
from magic_pomdp.cli import main
from magic_pomdp.learning import TrainSettings
from magic_pomdp.reproducing import tables
from magic_pomdp.reproducing.measures import RETURN
from magic_pomdp.reproducing.plan import Figure, Grid, LearningCurve, Line, Row, Scenes, Table, Training

_SETTINGS = TrainSettings(
    minutes=None, updates=20, workers=0, plan_steps=50, warmup=10, batch=4, replay=100, particles=4, encoder_width=8,
    generator_width=8, critic_width=8, evaluation_episodes=2, evaluation_steps=50, macro_length=2,
)  # fmt: skip
_TRAINING = Training("short", "tiger", _SETTINGS)
_SET = Row("tiger", "macro-despot", 8, 3000, budget=Budget(steps=500))
_LEARNED = Row("tiger", "magic", 6, 3000, budget=Budget(steps=500), training=_TRAINING)
_LINES = tuple(Line(row.planner, (Figure(row, RETURN),)) for row in (_SET, _LEARNED))
TABLE = Table(
    "small",
    "A small table",
    (Grid("", ("planner", "tiger"), _LINES),),
    (LearningCurve("tiger", _TRAINING, (_SET,)),),
    (Scenes("situations", _SET),),
)

if __name__ == "__main__":
    tables.paper_tables = lambda effort: {TABLE.name: TABLE}
    sys.exit(main())
