import numpy as np

from magic_pomdp.learning.replay import Experience, Replay
from magic_pomdp.magic.shape import GeneratorShape

SHAPE = GeneratorShape(2, 1, 3, 6, "sphere", particles=4)


def numbered(first, count):
    """Plans whose every number is the plan's own number."""
    numbers = np.arange(first, first + count, dtype=np.float32)
    sizes = Experience.shapes(SHAPE).items()
    return Experience(
        **{name: np.broadcast_to(numbers.reshape(-1, *[1] * len(size)), (count, *size)) for name, size in sizes}
    )


def test_a_full_replay_forgets_the_oldest():
    replay = Replay(SHAPE, 5)
    replay.add(numbered(0, 3))
    assert (len(replay), replay.added) == (3, 3)
    replay.add(numbered(3, 4))
    assert (len(replay), replay.added) == (5, 7)
    assert sorted(replay.all().value.tolist()) == [2, 3, 4, 5, 6]
    rows = replay.rows(np.array([1, 1, 4]))
    assert rows.value.tolist() == [6, 6, 4]
    assert rows.particles.shape == (3, 4, 2)
    assert (rows.parameters[2] == 4).all()


def test_a_restored_replay_goes_on_alike():
    for count in (3, 8):
        replay, copy = Replay(SHAPE, 5), Replay(SHAPE, 5)
        replay.add(numbered(0, min(count, 5)))
        replay.add(numbered(5, count - min(count, 5)))
        copy.restore({name: array.copy() for name, array in replay.state().items()}, replay.added)
        for one in (replay, copy):
            one.add(numbered(20, 2))
        assert copy.added == replay.added
        for name, array in replay.arrays.items():
            np.testing.assert_array_equal(array, copy.arrays[name])
