"""A generator at run time: belief and context → parameters Φ, compiled and without torch.

`learning/networks.py` trains the same network. Both know it by `layout`: the names and shapes of its arrays, in order.
Here they lie behind each other in one vector of float32, which also makes it cheap to hand new weights to worker
processes.
"""

import math

import numpy as np
from numba import njit

from magic_pomdp.core.belief import Belief
from magic_pomdp.core.compiling import kernel
from magic_pomdp.core.randomness import normal
from magic_pomdp.core.task import Task
from magic_pomdp.core.views import borrow
from magic_pomdp.macros.spaces import place
from magic_pomdp.magic.shape import GeneratorShape, plain_numbers
from magic_pomdp.planners.search import check_situation

_compiled = njit(error_model="numpy", fastmath={"contract"})

SMALLEST_SPREAD = 1e-3
"""Added to a relative spread before its logarithm is taken."""
NORM_EPSILON = 1e-5
"""Added to the variance in layer normalisation."""


class Features:
    """What networks see of a belief and a context: float32 arrays (particles, particle_features), (context_features,).

    The particles are evenly picked from the belief's. A generator that is told of the belief alone must not find the
    context in its particles; it is shown them with a context of zeros.
    """

    def __init__(self, task: Task, shape: GeneratorShape) -> None:
        self.task, self.shape = task, shape
        self._numbers = plain_numbers(task, shape.inputs)
        self._hidden_context = np.zeros(task.context_size)
        self._particles = np.zeros((shape.particles, shape.particle_features))
        self._context = np.zeros(shape.context_features)

    def __call__(self, belief: Belief | np.ndarray, context: np.ndarray | None = None) -> tuple[np.ndarray, np.ndarray]:
        particles, known = check_situation(self.task, belief, context)
        if self._numbers is not None:
            of_state, of_context = map(list, self._numbers)
            picked = particles[(2 * np.arange(self.shape.particles) + 1) * len(particles) // (2 * self.shape.particles)]
            return picked[:, of_state].astype(np.float32), known[of_context].astype(np.float32)
        shown = self._hidden_context if self.shape.conditioning == "belief" else known
        _describe(self.task, known, shown, particles, self._particles, self._context)
        return self._particles.astype(np.float32), self._context.astype(np.float32)


class Generator:
    """Parameters of a macro-action set for a belief and a context, given as `Features` gives them."""

    def __init__(self, shape: GeneratorShape, weights: np.ndarray) -> None:
        if weights.shape != (shape.weight_count,):
            raise ValueError(f"This generator has {shape.weight_count} weights, not {weights.shape}.")
        if not np.isfinite(weights).all():
            raise ValueError("The generator's weights contain NaN or infinity.")
        self.shape, self.weights = shape, np.ascontiguousarray(weights, dtype=np.float32)
        self._trunk = np.array((shape.trunk_inputs, *shape.trunk, shape.outputs), np.int64)
        self._particle = np.empty(shape.encoder_inputs + shape.encoder, np.float32)
        self._member = np.empty(shape.member_features + 2 * shape.member_width, np.float32)
        self._layers = np.empty((2, max(self._trunk)), np.float32)

    def mean(self, particles: np.ndarray, context: np.ndarray) -> np.ndarray:
        """The parameters to act with, float64 (count, size)."""
        centre, _ = self._run(particles, context)
        return place(centre, self.shape.kind)

    def sample(self, particles: np.ndarray, context: np.ndarray, random: np.ndarray) -> np.ndarray:
        """Parameters to learn with: drawn around the mean, float64 (count, size)."""
        centre, std = self._run(particles, context)
        if self.shape.kind != "box":
            shapes = centre[:, : self.shape.sphere_size]
            centre = np.concatenate([place(shapes, "sphere"), centre[:, self.shape.sphere_size :]], axis=1)
        return place(centre + std[:, None] * draw_normal(random, centre.shape), self.shape.kind)

    def _run(self, particles: np.ndarray, context: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        shape = self.shape
        output = _forward(
            particles, context, self.weights, shape.encoder if shape.sees_belief else 0, shape.sees_context,
            shape.relative, shape.members, shape.member_features, self._trunk, self._particle, self._member,
            self._layers,
        ).astype(np.float64)  # fmt: skip
        if not np.isfinite(output).all():
            raise ValueError(
                "The generator finds no finite parameters here: its weights, or the features, are too large."
            )
        low, high = np.log(shape.std_range)
        std = np.exp(0.5 * (low + high) + 0.5 * (high - low) * np.tanh(output[shape.count * shape.size :]))
        return output[: shape.count * shape.size].reshape(shape.count, shape.size), std


def draw_normal(random: np.ndarray, shape: tuple[int, ...]) -> np.ndarray:
    """Standard normal numbers from a stream."""
    values = np.empty(shape)
    _fill_normal(random, values.reshape(-1))
    return values


@kernel
def _fill_normal(random, values):
    for i in range(len(values)):
        values[i] = normal(random)


@kernel
def _describe(task, context, shown, particles, particle_features, context_features):
    context, shown, particles = borrow((context, shown, particles), task)
    particle_features, context_features = borrow((particle_features, context_features), task)
    task.context_features(context, context_features)
    count = len(particle_features)
    for i in range(count):
        picked = (2 * i + 1) * len(particles) // (2 * count)
        task.particle_features(shown, particles[picked], particle_features[i])


@kernel
def _forward(
    particles, context, weights, encoder, sees_context, relative, members, each, trunk, particle, member, layers
):
    """The network's outputs. `encoder` is the width of the particles' layer, 0 if they are not looked at; `relative`
    tells whether they are seen relative to their mean, too; the last features of a particle are of `members` with
    `each` so many; `particle`, `member`, `layers` are room to work in."""
    features, contexts = particles.shape[1] - members * each, len(context)
    told, used = layers[0], 0
    told[0] = np.float32(1.0)  # for a generator that is told nothing
    offset = 3 * features + 2 * contexts + (2 * each if members > 0 else 0)
    if encoder > 0:
        pooled = encoder + (3 * features if relative else 0)
        used = pooled + (2 * encoder if members > 0 else 0)
        of_members = told[pooled:used]
        offset = _encode(
            particles, weights, offset, encoder, relative, members, each, 3 * features + 2 * contexts, particle, member,
            told, of_members,
        )  # fmt: skip
        if relative:
            _summarise(particles, features, weights, told[encoder:])
    if sees_context:
        for j in range(contexts):
            centre, scale = weights[3 * features + j], weights[3 * features + contexts + j]
            told[used + j] = (context[j] - centre) / scale
    for layer in range(len(trunk) - 1):
        source, target = layers[layer % 2], layers[(layer + 1) % 2]
        offset = _dense(source, weights, offset, trunk[layer], trunk[layer + 1], target)
        if layer < len(trunk) - 2:
            offset = _normalise(target, weights, offset, trunk[layer + 1])
    return layers[(len(trunk) - 1) % 2, : trunk[-1]].copy()


@_compiled
def _encode(particles, weights, offset, width, relative, members, each, scales, particle, member, pooled, of_members):
    """The mean over all particles of a layer with ReLU, and of what their members are to it; where its weights end.
    The members' centres and scales begin at `scales`."""
    features, count = particles.shape[1] - members * each, len(particles)
    own = 2 * features if relative else features
    size = own + len(of_members)
    inputs, layer = particle[:size], particle[size:]
    for j in range(width):
        pooled[j] = np.float32(0.0)
    for j in range(len(of_members)):
        of_members[j] = np.float32(0.0)
    members_at, offset = offset, offset + (width * (each + 1 + width + 1) if members > 0 else 0)
    for i in range(count):
        for j in range(features):
            inputs[j] = (particles[i, j] - weights[j]) / weights[features + j]
            if relative:
                inputs[features + j] = (particles[i, j] - _column_mean(particles, j)) / weights[2 * features + j]
        if members > 0:
            found = inputs[own:]
            _look_at_members(particles[i, features:], weights, members_at, width, members, each, scales, member, found)
            for j in range(2 * width):
                of_members[j] += found[j] / np.float32(count)
        _dense(inputs, weights, offset, size, width, layer)
        for j in range(width):
            pooled[j] += max(layer[j], np.float32(0.0)) / np.float32(count)
    return offset + width * (size + 1)


@_compiled
def _look_at_members(features, weights, offset, width, members, each, scales, member, found):
    """The mean over all members of two layers with ReLU, and the largest."""
    inputs, first, second = member[:each], member[each : each + width], member[each + width :]
    for j in range(2 * width):
        found[j] = np.float32(0.0)
    for i in range(members):
        for j in range(each):
            inputs[j] = (features[i * each + j] - weights[scales + j]) / weights[scales + each + j]
        behind = _dense(inputs, weights, offset, each, width, first)
        for j in range(width):
            first[j] = max(first[j], np.float32(0.0))
        _dense(first, weights, behind, width, width, second)
        for j in range(width):
            value = max(second[j], np.float32(0.0))
            found[j] += value / np.float32(members)
            found[width + j] = max(found[width + j], value)


@_compiled
def _column_mean(particles, column):
    total = np.float32(0.0)
    for i in range(len(particles)):
        total += particles[i, column]
    return total / np.float32(len(particles))


@_compiled
def _summarise(particles, features, weights, summary):
    """Mean, spread and logarithm of the spread of so many features."""
    count = len(particles)
    for j in range(features):
        mean, square = _column_mean(particles, j), np.float32(0.0)
        for i in range(count):
            square += (particles[i, j] - mean) ** 2
        relative = math.sqrt(square / np.float32(count)) / weights[2 * features + j]
        summary[j] = (mean - weights[j]) / weights[features + j]
        summary[features + j] = relative
        summary[2 * features + j] = math.log(relative + SMALLEST_SPREAD)


@_compiled
def _dense(source, weights, offset, inputs, outputs, target):
    """target = W source + b; where the layer's weights end."""
    matrix = weights[offset : offset + inputs * outputs]
    bias = weights[offset + inputs * outputs : offset + (inputs + 1) * outputs]
    for j in range(outputs):
        target[j] = bias[j]
    for i in range(inputs):
        value, row = source[i], matrix[i * outputs : (i + 1) * outputs]
        if value != np.float32(0.0):
            for j in range(outputs):
                target[j] += value * row[j]
    return offset + (inputs + 1) * outputs


@_compiled
def _normalise(layer, weights, offset, width):
    """Layer normalisation and ReLU, in place; where its weights end."""
    mean, square = np.float32(0.0), np.float32(0.0)
    for j in range(width):
        mean += layer[j]
    mean /= np.float32(width)
    for j in range(width):
        square += (layer[j] - mean) ** 2
    factor = np.float32(1.0) / np.float32(math.sqrt(square / np.float32(width) + NORM_EPSILON))
    for j in range(width):
        value = (layer[j] - mean) * factor * weights[offset + j] + weights[offset + width + j]
        layer[j] = max(value, np.float32(0.0))
    return offset + 2 * width
