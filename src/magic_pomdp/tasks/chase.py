"""What Tag and LaserTag have in common: a robot chases an opponent, who runs away, from square to square."""

import dataclasses
from functools import cache

import numpy as np

from magic_pomdp.core.outcome import Outcome
from magic_pomdp.core.randomness import integer, uniform
from magic_pomdp.core.scene import Circle, Scene, Shape, rectangle
from magic_pomdp.core.task import Task

NORTH, EAST, SOUTH, WEST, TAG = range(5)
"""Actions: four moves, and tagging."""
ROBOT, OPPONENT, OUTCOME = range(3)
"""State: the numbers of two squares, and whether the opponent is tagged."""
ACROSS, UP = 0.4, 0.8
"""The opponent goes east or west with a probability of 0.4, north or south with as much, and stays otherwise."""
HALF = 0.2
"""Where the robot is neither on one side nor on the other, he goes to each with this probability."""
MOVES = ((0, 1), (1, 0), (0, -1), (-1, 0))
PRECISE = 1e-4
"""A table of values is good enough when it changes by less."""


class Chase(Task, abstract=True):
    """Tagging an opponent on one's own square ends the episode. Where he goes depends on where the robot was before. A
    way that is blocked is stayed on by either."""

    state_size = 3
    action_size = 1

    discount: float = 0.95
    max_steps: int = 90
    """An episode that is still running after so many primitive steps is stopped."""
    move_reward: float = -1.0
    """Reward of a move."""
    tag_reward: float = 10.0
    """Reward of tagging the opponent."""
    miss_reward: float = -10.0
    """Reward of tagging nobody."""

    width: int = dataclasses.field(init=False, repr=False)
    """Squares from west to east; they are numbered by rows, from the south."""
    free: np.ndarray = dataclasses.field(init=False, repr=False)
    """Of each layout, the numbers of its free squares: shape (layouts, free squares)."""
    ways: np.ndarray = dataclasses.field(init=False, repr=False)
    """Of each layout, where each action leads from each square: shape (layouts, squares, actions)."""
    patrol: np.ndarray = dataclasses.field(init=False, repr=False)
    """Of each layout, where a robot goes from each square that walks along the walls: shape (layouts, squares)."""
    values: np.ndarray = dataclasses.field(init=False, repr=False)
    """What is earned by who sees the opponent: shape (layouts, squares of the robot, squares of the opponent)."""

    def __post_init__(self) -> None:
        floors = self.floors()
        object.__setattr__(self, "width", floors.shape[2])
        object.__setattr__(self, "free", np.array([np.flatnonzero(floor) for floor in floors], dtype=np.float64))
        object.__setattr__(self, "ways", _ways(floors))
        object.__setattr__(
            self, "patrol", np.array([_patrol(floor, way) for floor, way in zip(floors, self.ways, strict=True)])
        )
        object.__setattr__(self, "values", np.zeros((len(floors), floors[0].size, floors[0].size)))
        super().__post_init__()
        if self.discount == 1.0 or max(self.move_reward, self.miss_reward) > 0.0 or self.tag_reward < 0.0:
            raise ValueError(
                f"The discount of {self.name} must be below 1, its move_reward and miss_reward not positive and its "
                "tag_reward not negative."
            )
        rewards = self.move_reward, self.tag_reward, self.miss_reward
        object.__setattr__(self, "values", _values(floors.tobytes(), floors.shape, self.discount, *rewards))

    def floors(self) -> np.ndarray:
        """Which squares are free in each layout: bool, shape (layouts, rows from the south, columns)."""
        raise NotImplementedError

    def layout(self, context):
        """The number of the layout of an episode."""
        return 0

    def draw_square(self, context, random):
        """A free square."""
        return self.free[self.layout(context), integer(random, self.free.shape[1])]

    def chase(self, context, state, action, random):
        """Move both, or tag; reward and outcome."""
        layout, robot, opponent = self.layout(context), int(state[ROBOT]), int(state[OPPONENT])
        if action[0] == TAG and robot == opponent:
            state[OUTCOME] = Outcome.SUCCESS
            return self.tag_reward, Outcome.SUCCESS
        chance, way = uniform(random), TAG
        if chance < ACROSS:
            ahead = opponent % self.width - robot % self.width
            way = EAST if ahead > 0 or (ahead == 0 and chance < HALF) else WEST
        elif chance < UP:
            ahead = opponent // self.width - robot // self.width
            way = NORTH if ahead > 0 or (ahead == 0 and chance < ACROSS + HALF) else SOUTH
        state[OPPONENT] = self.ways[layout, opponent, way]
        state[ROBOT] = self.ways[layout, robot, int(action[0])]
        return (self.miss_reward if action[0] == TAG else self.move_reward), Outcome.RUNNING

    def step_unobserved(self, context, state, action, random, unseen):
        if state[OUTCOME] != Outcome.RUNNING:
            return 0.0, int(state[OUTCOME])
        return self.chase(context, state, action, random)

    def upper_bound(self, context, state):
        """The best of a robot that sees the opponent."""
        if state[OUTCOME] != Outcome.RUNNING:
            return 0.0
        return self.values[self.layout(context), int(state[ROBOT]), int(state[OPPONENT])]

    def guide(self, context, state, macro_actions, lengths):
        """Tag an opponent who is there, else walk along the walls: who runs away ends in a corner."""
        wanted = self.patrol[self.layout(context), int(state[ROBOT])]
        if state[ROBOT] == state[OPPONENT]:
            wanted = TAG
        for number in range(len(lengths)):
            if macro_actions[number, 0, 0] == wanted:
                return number
        return 0

    def rollout_action(self, context, state, actions, random, action):
        """The same."""
        action[0] = self.patrol[self.layout(context), int(state[ROBOT])]
        if state[ROBOT] == state[OPPONENT]:
            action[0] = TAG

    def actions(self) -> np.ndarray:
        return np.arange(5.0)[:, None]

    # ---------------------------------------------------------------------------------------------------- what is told

    @property
    def particle_features_size(self) -> int:
        return 4

    def particle_features(self, context, state, features):
        """Column and row of both."""
        features[0], features[1] = state[ROBOT] % self.width, state[ROBOT] // self.width
        features[2], features[3] = state[OPPONENT] % self.width, state[OPPONENT] // self.width

    def state_distance(self, state, other):
        """How many columns and rows the opponents are apart."""
        across = abs(state[OPPONENT] % self.width - other[OPPONENT] % self.width)
        return across + abs(state[OPPONENT] // self.width - other[OPPONENT] // self.width)

    def middle(self, square: float) -> tuple[float, float]:
        """Where a square is."""
        return square % self.width, square // self.width

    def scene(self, context: np.ndarray) -> Scene:
        rows = self.ways.shape[1] // self.width
        corners = [self.middle(square) for square in self.free[self.layout(context)].tolist()]
        squares = [rectangle(x - 0.47, y - 0.47, x + 0.47, y + 0.47, "surface") for x, y in corners]
        return Scene(view=(-1.0, -1.0, float(self.width), float(rows)), shapes=squares)

    def sprites(self, context: np.ndarray, state: np.ndarray, particles: np.ndarray) -> tuple[Shape, ...]:
        """The larger a circle, the likelier the opponent is there."""
        squares, counts = np.unique(particles[:, OPPONENT], return_counts=True)
        shares = np.sqrt(counts / counts.sum())
        believed = [
            Circle(*self.middle(square), 0.45 * share, "belief")
            for square, share in zip(squares.tolist(), shares.tolist(), strict=True)
        ]
        opponent = Circle(*self.middle(float(state[OPPONENT])), 0.3, "object", filled=False)
        return *believed, opponent, Circle(*self.middle(float(state[ROBOT])), 0.2, "robot")


def _ways(floors: np.ndarray) -> np.ndarray:
    """Where each action leads from each square of each layout."""
    count, rows, columns = floors.shape
    row, column = np.indices((rows, columns))
    ways = np.empty((count, rows, columns, TAG + 1))
    ways[...] = (row * columns + column)[..., None]
    for action, (dx, dy) in enumerate(MOVES):
        above, beside = row + dy, column + dx
        inside = (above >= 0) & (above < rows) & (beside >= 0) & (beside < columns)
        above, beside = np.where(inside, above, row), np.where(inside, beside, column)
        ways[..., action] = np.where(floors[:, above, beside], above * columns + beside, ways[..., action])
    return ways.reshape(count, rows * columns, TAG + 1)


def _patrol(floor: np.ndarray, ways: np.ndarray) -> np.ndarray:
    """Where a robot goes that keeps a wall at its right hand; from squares without one, the shortest way to such."""
    square, side, known = int(np.flatnonzero(floor)[0]), EAST, {}
    begun = set()
    while (square, side) not in begun:
        begun.add((square, side))
        turns = [(side + turn) % len(MOVES) for turn in (1, 0, 3, 2)]  # right, ahead, left, back
        side = next((turn for turn in turns if ways[square, turn] != square), side)
        known[square] = side
        square = int(ways[square, side])
    found = list(known)
    for goal in found:  # grows meanwhile
        for side in range(len(MOVES)):
            back = int(ways[goal, (side + 2) % len(MOVES)])
            if back not in known:
                known[back] = side
                found.append(back)
    return np.array([float(known.get(square, NORTH)) for square in range(floor.size)])


@cache
def _values(
    floors: bytes, shape: tuple[int, int, int], discount: float, move: float, tag: float, miss: float
) -> np.ndarray:
    """What is earned from any two squares by who sees both: value iteration, from above."""
    ways = _ways(np.frombuffer(floors, dtype=bool).reshape(shape)).astype(np.int64)
    squares, columns = np.arange(shape[1] * shape[2]), shape[2]
    ahead_x = np.sign(squares % columns - squares[:, None] % columns)  # [robot, opponent]
    ahead_y = np.sign(squares // columns - squares[:, None] // columns)
    chances = np.empty((5, len(squares), len(squares)))
    for way, ahead in ((NORTH, ahead_y), (EAST, ahead_x), (SOUTH, -ahead_y), (WEST, -ahead_x)):
        chances[way] = HALF * (1.0 + ahead)
    chances[TAG] = 1.0 - UP
    together, values = np.eye(len(squares), dtype=bool), np.empty((len(ways), len(squares), len(squares)))
    for way, table in zip(ways, values, strict=True):
        table[:] = tag
        change = np.inf
        while change > PRECISE:
            # of each square that the robot may come to, what is expected of each way that the opponent may go
            arrived = [table[way[:, action]] for action in range(TAG + 1)]
            expected = [
                sum(chances[flight] * there[:, way[:, flight]] for flight in range(TAG + 1)) for there in arrived
            ]
            moved = move + discount * np.max(expected[:TAG], axis=0)
            missed = miss + discount * expected[TAG]
            best = np.maximum(moved, np.where(together, tag, missed))
            change = float((table - best).max())
            table[:] = best
    return values
