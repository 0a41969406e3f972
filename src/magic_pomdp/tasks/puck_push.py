"""Puck-Push: push a sliding puck past two strips in which nobody sees it, into the goal.

A round robot drives into a round puck, which creeps around it as it is pushed and is lost when it reaches the robot's
side. Robot and puck are seen with noise; the puck is not seen in the strips, and now and then not elsewhere either.
"""

import dataclasses
import math

import numpy as np
from numba import njit

from magic_pomdp.core.learning_hints import Mirror
from magic_pomdp.core.outcome import Outcome
from magic_pomdp.core.randomness import four_normals, normal, uniform
from magic_pomdp.core.scene import Circle, Handle, Scene, Shape, Track, rectangle
from magic_pomdp.core.series import arccosine, arcsine, direction, exponential, logarithm, sin_cos, sin_cos_within
from magic_pomdp.core.task import Task
from magic_pomdp.macros.spaces import BezierSpace
from magic_pomdp.macros.straight import compass
from magic_pomdp.magic.planner import MagicSettings
from magic_pomdp.planners.despot_settings import DespotSettings, MacroDespotSettings
from magic_pomdp.planners.pomcpow import PomcpowSettings
from magic_pomdp.tasks.noise import informed_normal, log_noise_density, positive_normal

BOT_X, BOT_Y, PUCK_X, PUCK_Y, STEPS, OUTCOME = range(6)
"""State: the robot, the puck, primitive steps taken, and how the episode has ended (RUNNING while it has not)."""
GOAL_X, GOAL_Y = range(2)
"""Context: the middle of the goal."""
SEEN_BOT_X, SEEN_BOT_Y, SEEN, SEEN_PUCK_X, SEEN_PUCK_Y = range(5)
"""Observation: the robot; 1 and the puck, or 0 0 0 if it is not seen."""

_BOARD = 600.0
"""A length in whose units positions on the board are small numbers."""
PUCK_LEFT, PUCK_RIGHT, PUCK_BOTTOM, PUCK_TOP = 53.0, 1234.0, 56.0, 542.0
"""Where the puck may be."""
TRUST, WIDE_ROOM = 0.5, 200.0
"""How much of its bound a puck is worth to a search that looks no further, if it is so many millimetres off all walls;
nearer to one it is worth less, and nothing at it."""
LOG_HALF_PI = math.log(0.5 * math.pi)
LOST = 8.0
"""What is seen so many standard deviations off, somebody has moved."""


class PuckPush(Task):
    """Lengths in millimetres. An action is the unit vector of the heading."""

    name = "puck-push"
    state_size = 6
    action_size = 2
    observation_size = 5
    context_size = 2
    noise_size = 5
    particle_features_size = 7
    plain_features = ((STEPS, BOT_X, BOT_Y, PUCK_X, PUCK_Y), (GOAL_X, GOAL_Y))
    advice = (  # the paper's search depth of 100 spends nearly all of a search on rollouts that are lost anyway
        DespotSettings(scenarios=30, search_depth=20),  # to refine single actions costs more than it gains
        MacroDespotSettings(scenarios=30, search_depth=20, macro_length=2, refine=0.4),
        MagicSettings(scenarios=30, search_depth=20, refine=0.4),
        PomcpowSettings(100.0, 12.5, 0.1, 7.5, 0.075, search_depth=20),
    )

    max_steps: int = 100
    """Reaching this many steps is a failure."""
    duration: float = 2.0
    """Seconds of one step."""
    speed: float = 50.0
    """Mean speed of the robot."""
    speed_noise: float = 2.5
    """Standard deviation of its speed in a step."""
    heading_noise: float = 0.05
    """Standard deviation of its heading in a step."""
    creep: float = 0.01
    """How fast the puck creeps around the robot: its angle grows by e in 1 / creep millimetres."""
    creep_noise: float = 0.003
    """Standard deviation of the creep in a step."""
    gap_noise: float = 0.03
    """Standard deviation of the gap, in radii, that a push leaves between robot and puck."""
    bot_radius: float = 38.0
    puck_radius: float = 16.0
    goal_radius: float = 80.0
    """The puck is in when all of it is."""
    start_noise: float = 4.0
    """Standard deviation of each coordinate at the start."""
    bot_noise: float = 3.0
    """Standard deviation of the robot's seen coordinates."""
    puck_noise: float = 5.0
    """Standard deviation of the puck's seen coordinates."""
    flicker: float = 0.1
    """Probability of not seeing the puck where it could be seen."""
    step_reward: float = -0.1
    goal_reward: float = 100.0
    failure_reward: float = -100.0
    moved_by_hand: float = 0.0
    """Probability that somebody moves the robot or the puck in a step. `step` never does; a belief that reckons with it
    finds back what it has lost."""
    key_cell: float = 25.0
    """Seen positions in the same cell of this side share a branch of the search. With 1, as in the paper's program,
    every scenario that sees the puck is alone in its branch, and the search plans with hindsight."""
    log_discount: float = dataclasses.field(init=False, repr=False, default=0.0)

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "log_discount", math.log(self.discount))
        for name in ("duration", "speed", "creep", "bot_radius", "puck_radius", "bot_noise", "puck_noise", "key_cell"):
            if getattr(self, name) <= 0.0:
                raise ValueError(f"Puck-Push's {name} must be positive, not {getattr(self, name)}.")
        for name in ("speed_noise", "heading_noise", "creep_noise", "gap_noise", "start_noise"):
            if getattr(self, name) < 0.0:
                raise ValueError(f"Puck-Push's {name} must not be negative, but is {getattr(self, name)}.")
        if self.goal_radius <= self.puck_radius:
            raise ValueError(f"Puck-Push's goal_radius must exceed its puck_radius, but is {self.goal_radius}.")
        if not 0.0 < self.flicker < 1.0 or self.discount == 1.0 or not 0.0 <= self.moved_by_hand < 1.0:
            raise ValueError("Puck-Push's flicker and moved_by_hand must lie between 0 and 1, its discount below 1.")

    def draw_context(self, random, context):
        context[GOAL_X] = 980.0 + 187.0 * uniform(random)
        context[GOAL_Y] = 125.0 + 350.0 * uniform(random)

    def draw_state(self, context, random, state):
        state[BOT_X] = 300.0 + self.start_noise * normal(random)
        state[BOT_Y] = 299.0 + self.start_noise * normal(random)
        state[PUCK_X] = 450.0 + self.start_noise * normal(random)
        state[PUCK_Y] = 299.0 + self.start_noise * normal(random)
        state[STEPS] = 0.0
        state[OUTCOME] = Outcome.RUNNING

    def step(self, context, state, action, random, observation):
        if state[OUTCOME] != Outcome.RUNNING:
            observation[:] = 0.0
            return 0.0, int(state[OUTCOME])
        reward, outcome = self.step_unobserved(context, state, action, random, observation)
        self.look(state, random, observation)
        return reward, outcome

    def draw_noise(self, random, noise):
        noise[0], noise[1], noise[2], noise[3], noise[4] = self.draw_push(random)

    def draw_push(self, random):
        """What chance decides in a step: how far off its heading the robot drives (sine, cosine), how far, how fast the
        puck creeps, and how wide a gap is left, in radii."""
        turn, far, creep, gap = four_normals(random)
        length = self.duration * positive_normal(self.speed, self.speed_noise, far, random)
        return (*sin_cos(self.heading_noise * turn), length, *self.contact(creep, gap, random))

    def contact(self, creep, gap, random):
        """The part of it that the robot's own motion does not tell, from two standard normal numbers."""
        return positive_normal(self.creep, self.creep_noise, creep, random), abs(self.gap_noise * gap)

    def step_unobserved(self, context, state, action, random, unseen):
        if state[OUTCOME] != Outcome.RUNNING:
            return 0.0, int(state[OUTCOME])
        return self.step_with_noise(context, state, action, self.draw_push(random))

    def step_with_noise(self, context, state, action, noise):
        if state[OUTCOME] != Outcome.RUNNING:
            return 0.0, int(state[OUTCOME])
        self.push(state, action, noise)
        return self.judge(context, state)

    def condition(self, context, state, action, random, observation, imagined):
        """The robot's motion is drawn knowing where it was seen afterwards. Weighing it by that instead would thin out,
        step by step, the particles that tell where an unseen puck may be."""
        if state[OUTCOME] != Outcome.RUNNING:
            return -math.inf, 0.0, int(state[OUTCOME])
        off_x, off_y = observation[SEEN_BOT_X] - state[BOT_X], observation[SEEN_BOT_Y] - state[BOT_Y]
        ahead, aside = action[0] * off_x + action[1] * off_y, action[0] * off_y - action[1] * off_x
        far, value = self.duration * self.speed, 0.0
        length_noise, side_noise = self.duration * self.speed_noise, far * self.heading_noise
        square = (ahead - far) ** 2 / (length_noise**2 + self.bot_noise**2)
        square += aside**2 / (side_noise**2 + self.bot_noise**2)
        if self.moved_by_hand > 0.0 and square > LOST**2:
            state[BOT_X] = observation[SEEN_BOT_X] - far * action[0]
            state[BOT_Y] = observation[SEEN_BOT_Y] - far * action[1]
            ahead, aside, value = far, 0.0, math.log(self.moved_by_hand)
        turn, turn_weight = informed_normal(0.0, self.heading_noise, aside / far, self.bot_noise / far, random)
        length, length_weight = informed_normal(far, length_noise, ahead, self.bot_noise, random)
        self.push(
            state, action, (*sin_cos(turn), max(0.0, length), *self.contact(normal(random), normal(random), random))
        )
        reward, outcome = self.judge(context, state)
        if outcome != Outcome.RUNNING or length <= 0.0:
            return -math.inf, reward, outcome
        off_x, off_y = observation[SEEN_PUCK_X] - state[PUCK_X], observation[SEEN_PUCK_Y] - state[PUCK_Y]
        lost = off_x * off_x + off_y * off_y > (LOST * self.puck_noise) ** 2
        if self.moved_by_hand > 0.0 and observation[SEEN] == 1.0 and (lost or self.hidden(state)):
            state[PUCK_X] = observation[SEEN_PUCK_X] + self.puck_noise * normal(random)
            state[PUCK_Y] = observation[SEEN_PUCK_Y] + self.puck_noise * normal(random)
            value += math.log(self.moved_by_hand)
        value += self.log_likelihood(context, state, action, observation) + turn_weight + length_weight
        return value, reward, outcome

    def judge(self, context, state):
        """Count the step, and see how the episode stands: reward and outcome."""
        state[STEPS] += 1.0
        reward, outcome = self.step_reward, Outcome.RUNNING
        if not self.on_board(state):
            reward, outcome = self.failure_reward, Outcome.FAILURE
        elif self.reached(context, state):
            reward, outcome = self.goal_reward, Outcome.SUCCESS
        elif state[STEPS] >= self.max_steps:
            reward, outcome = self.failure_reward, Outcome.FAILURE
        state[OUTCOME] = outcome
        return reward, outcome

    def push(self, state, action, noise):
        """Drive straight on, somewhat off the heading. From first contact on the puck is pushed, and creeps around the
        robot until it is lost at its side."""
        sin, cos, length, creep, gap = noise[0], noise[1], noise[2], noise[3], noise[4]
        dx, dy = cos * action[0] - sin * action[1], sin * action[0] + cos * action[1]
        bot_x, bot_y = state[BOT_X], state[BOT_Y]
        away_x, away_y = bot_x - state[PUCK_X], bot_y - state[PUCK_Y]
        touching = self.bot_radius + self.puck_radius
        driven = first_contact(away_x, away_y, dx, dy, touching, length)
        if driven >= 0.0:
            angle = arcsine(max(-1.0, min(1.0, (away_x * dy - away_y * dx) * (1.0 / touching))))
            if driven > -(away_x * dx + away_y * dy):  # the puck is behind
                angle = math.copysign(math.pi, angle) - angle
            grown = max(-0.5 * math.pi, min(0.5 * math.pi, angle * exponential(creep * (length - driven))))
            until_lost = (LOG_HALF_PI - logarithm(max(1e-12, abs(angle)))) * (1.0 / creep)
            end = min(length, driven + until_lost)
            reach = (1.001 + gap) * touching
            sin, cos = sin_cos_within(grown)
            sin, cos = reach * sin, reach * cos
            state[PUCK_X] = bot_x + end * dx + cos * dx - sin * dy
            state[PUCK_Y] = bot_y + end * dy + sin * dx + cos * dy
        state[BOT_X] = bot_x + length * dx
        state[BOT_Y] = bot_y + length * dy

    def look(self, state, random, observation):
        """Fill what is seen of a state."""
        observation[SEEN_BOT_X] = state[BOT_X] + self.bot_noise * normal(random)
        observation[SEEN_BOT_Y] = state[BOT_Y] + self.bot_noise * normal(random)
        observation[SEEN] = observation[SEEN_PUCK_X] = observation[SEEN_PUCK_Y] = 0.0
        if not self.hidden(state) and uniform(random) >= self.flicker:
            observation[SEEN] = 1.0
            observation[SEEN_PUCK_X] = state[PUCK_X] + self.puck_noise * normal(random)
            observation[SEEN_PUCK_Y] = state[PUCK_Y] + self.puck_noise * normal(random)

    def on_board(self, state):
        """Whether robot and puck are both where they may be."""
        bot = 75.0 < state[BOT_X] < 1212.0 and 78.0 < state[BOT_Y] < 520.0
        return bot and PUCK_LEFT < state[PUCK_X] < PUCK_RIGHT and PUCK_BOTTOM < state[PUCK_Y] < PUCK_TOP

    def hidden(self, state):
        """Whether the puck is in one of the strips."""
        x = state[PUCK_X]
        return (574.0 <= x <= 716.0 or 774.0 <= x <= 916.0) and 24.0 <= state[PUCK_Y] <= 574.0

    def reached(self, context, state):
        """Whether all of the puck is in the goal."""
        off_x, off_y = state[PUCK_X] - context[GOAL_X], state[PUCK_Y] - context[GOAL_Y]
        return off_x * off_x + off_y * off_y <= (self.goal_radius - self.puck_radius) ** 2

    def goal_distance(self, context, state):
        """How far the puck still has to go until it is in."""
        to_middle = math.sqrt((state[PUCK_X] - context[GOAL_X]) ** 2 + (state[PUCK_Y] - context[GOAL_Y]) ** 2)
        return to_middle - (self.goal_radius - self.puck_radius)

    def log_likelihood(self, context, state, action, observation):
        value = log_noise_density(
            observation[SEEN_BOT_X] - state[BOT_X], observation[SEEN_BOT_Y] - state[BOT_Y], self.bot_noise
        )
        hidden, seen = self.hidden(state), observation[SEEN] == 1.0
        if hidden:
            return -math.inf if seen else value
        if not seen:
            return value + math.log(self.flicker)
        value += math.log(1.0 - self.flicker)
        off_x, off_y = observation[SEEN_PUCK_X] - state[PUCK_X], observation[SEEN_PUCK_Y] - state[PUCK_Y]
        return value + log_noise_density(off_x, off_y, self.puck_noise)

    def observation_key(self, observation):
        """The cells of robot and puck. While the puck is not seen, all observations are the same: the robot's own noise
        would tell the scenarios apart, and so, in the search alone, where the puck is."""
        key = 0
        if observation[SEEN] == 1.0:
            for i in (SEEN_BOT_X, SEEN_BOT_Y, SEEN_PUCK_X, SEEN_PUCK_Y):
                key = 4096 * key + math.floor(observation[i] / self.key_cell) + 1024
        return key

    def upper_bound(self, context, state):
        """The robot round to behind the puck, and the puck straight to the goal's edge, faster than ever likely."""
        if state[OUTCOME] != Outcome.RUNNING:
            return 0.0
        touching = self.bot_radius + self.puck_radius
        longest_push = self.duration * (self.speed + 3.0 * self.speed_noise) + 3.0 * self.gap_noise * touching
        # The puck also goes where it should when it is pushed somewhat from the side.
        approach = max(0.0, self.way_behind_puck(context, state) - 0.5 * touching)
        moves = max(1.0, (approach + self.goal_distance(context, state)) / longest_push)
        moving_for_ever = self.step_reward / (1.0 - self.discount)
        moves_left = self.max_steps - state[STEPS]
        discount = exponential((min(moves, moves_left) - 1.0) * self.log_discount)  # much faster than a power
        if moves <= moves_left:
            return moving_for_ever + discount * (self.goal_reward - moving_for_ever)
        at_the_end = moving_for_ever + discount * (self.failure_reward - moving_for_ever)
        return max(self.failure_reward, at_the_end)  # too late: the failure can only be put off

    def value_beyond(self, context, state):
        """Part of the bound: the less, the nearer the puck is to a wall, for there the robot can hardly get behind it.
        Without this, a search that does not see the end of it would wander about."""
        x, y = state[PUCK_X], state[PUCK_Y]
        room = min(x - PUCK_LEFT, PUCK_RIGHT - x, y - PUCK_BOTTOM, PUCK_TOP - y)
        return TRUST * max(0.0, min(1.0, room / WIDE_ROOM)) * max(0.0, self.upper_bound(context, state))

    def way_behind_puck(self, context, state):
        """How far the robot drives to where it touches the puck opposite the goal, round the puck if that is in the
        way: along a tangent, then along the puck."""
        touching = self.bot_radius + self.puck_radius
        goal_x, goal_y = context[GOAL_X] - state[PUCK_X], context[GOAL_Y] - state[PUCK_Y]
        bot_x, bot_y = state[BOT_X] - state[PUCK_X], state[BOT_Y] - state[PUCK_Y]
        away = math.sqrt(bot_x * bot_x + bot_y * bot_y)
        side = -(goal_x * bot_x + goal_y * bot_y) / (math.sqrt(goal_x * goal_x + goal_y * goal_y) * away)
        away = max(touching, away)
        # With nothing in the way, the law of cosines.
        straight = math.sqrt(max(0.0, away * away + touching * touching - 2.0 * away * touching * side))
        around = arccosine(max(-1.0, min(1.0, side))) - arccosine(touching / away)
        along = math.sqrt(away * away - touching * touching) + touching * around
        return straight if side * away >= touching else along

    def draw_action(self, actions, random, action):
        action[0], action[1] = direction(uniform(random))

    def particle_features(self, context, state, features):
        """The goal as seen from the puck, the puck as seen from the robot, the puck on the board, and the time."""
        features[0] = (context[GOAL_X] - state[PUCK_X]) / _BOARD
        features[1] = (context[GOAL_Y] - state[PUCK_Y]) / _BOARD
        features[2] = (state[PUCK_X] - state[BOT_X]) / (self.bot_radius + self.puck_radius)
        features[3] = (state[PUCK_Y] - state[BOT_Y]) / (self.bot_radius + self.puck_radius)
        features[4] = state[PUCK_X] / _BOARD
        features[5] = state[PUCK_Y] / _BOARD
        features[6] = state[STEPS] / self.max_steps

    def context_features(self, context, features):
        features[0] = context[GOAL_X] / _BOARD
        features[1] = context[GOAL_Y] / _BOARD

    def state_distance(self, state, other):
        bot = math.hypot(state[BOT_X] - other[BOT_X], state[BOT_Y] - other[BOT_Y])
        return 0.5 * (bot + math.hypot(state[PUCK_X] - other[PUCK_X], state[PUCK_Y] - other[PUCK_Y]))

    def actions(self) -> np.ndarray:
        return compass(8)

    def macro_space(self, length: int) -> BezierSpace:
        return BezierSpace(length)

    def mirrors(self) -> tuple[Mirror, ...]:
        """Upside down: the board's middle is at the same height as the start."""
        twice = (PUCK_BOTTOM + PUCK_TOP) / _BOARD
        return (
            Mirror(
                particle_signs=(1.0, -1.0, 1.0, -1.0, 1.0, -1.0, 1.0),
                particle_shifts=(0.0, 0.0, 0.0, 0.0, 0.0, twice, 0.0),
                context_signs=(1.0, -1.0),
                context_shifts=(0.0, twice),
                parameter_signs=(1.0, -1.0) * 3,
            ),
        )

    def scene(self, context: np.ndarray) -> Scene:
        board = rectangle(37, 40, 1250, 558, "surface")
        strips = (rectangle(left, 40, left + 142, 558, "shade") for left in (574, 774))
        goal = Circle(context[GOAL_X], context[GOAL_Y], self.goal_radius, "goal", filled=False)
        return Scene(
            view=(0.0, 0.0, 1290.0, 600.0),
            shapes=(board, *strips, goal),
            robot=(BOT_X, BOT_Y),
            particles=(Track(PUCK_X, PUCK_Y),),
            trails=(Track(PUCK_X, PUCK_Y, "object"), Track(BOT_X, BOT_Y, "path")),
            handles=(
                Handle("goal", GOAL_X, GOAL_Y, radius=self.goal_radius),
                Handle("puck", PUCK_X, PUCK_Y, "hidden", self.puck_radius),
                Handle("robot", BOT_X, BOT_Y, "hidden", self.bot_radius),
            ),
        )

    def sprites(self, context: np.ndarray, state: np.ndarray, particles: np.ndarray) -> tuple[Shape, ...]:
        bot = Circle(state[BOT_X], state[BOT_Y], self.bot_radius, "robot")
        return bot, Circle(state[PUCK_X], state[PUCK_Y], self.puck_radius, "object")


@njit
def first_contact(away_x, away_y, dx, dy, touching, length):
    """How far the robot drives until it touches the puck, which it is `away` from; −1 if it does not."""
    along = away_x * dx + away_y * dy
    square = along * along - (away_x * away_x + away_y * away_y - touching * touching)
    half = math.sqrt(max(0.0, square))
    driven = -along - half if along + half <= 0.0 else half - along  # to the near side, or to the far one
    touches = (square >= 0.0) & (driven >= 0.0) & (driven <= length)
    return driven if touches else -1.0
