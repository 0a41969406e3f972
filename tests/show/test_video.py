import tracemalloc
from io import BytesIO

import numpy as np
import pytest

pytest.importorskip("matplotlib")
from msgspec.structs import replace
from PIL import Image

from magic_pomdp.core.scene import Line, Polygon, Text
from magic_pomdp.results.recording import load_recording, save_recording
from magic_pomdp.show.drawing import _shade_colour, _shades, palette
from magic_pomdp.show.picture import draw_situations
from magic_pomdp.show.video import _Film, _write_gif, write_video


@pytest.fixture
def brief(macro_despot):
    """The first six steps of an episode."""
    episode = macro_despot.episodes[0]
    names = {7: ("states", "particles", "sprites", "plan_of_frame", "belief_errors", "belief_spreads")}
    names[6] = ("rewards", "actions", "observations")
    shorter = {name: getattr(episode, name)[:count] for count, of in names.items() for name in of}
    return replace(macro_despot, episodes=(replace(episode, **shorter, steps=6),))


def seconds_of(picture):
    """How long a GIF lasts. Frames that are alike are one that lasts longer."""
    shown = 0
    for frame in range(picture.n_frames):
        picture.seek(frame)
        shown += picture.info["duration"]
    return shown / 1000


def test_a_gif_has_all_frames(brief, tmp_path):
    told = []
    count = write_video(
        tmp_path / "a.gif",
        [brief],
        fps=10,
        speed=5,
        width=200,
        on_progress=lambda done, all_: told.append((done, all_)),
    )
    assert count == 6 * 2 + 15  # two frames a step, and the end for a second and a half
    assert told == [(number, count) for number in range(1, count + 1)]
    with Image.open(tmp_path / "a.gif") as picture:
        assert (picture.width, picture.height % 2) == (200, 0)
        assert seconds_of(picture) == pytest.approx(count / 10)
    assert [path.name for path in tmp_path.iterdir()] == ["a.gif"]


def test_a_gif_keeps_time_though_it_counts_in_hundredths(brief, tmp_path):
    count = write_video(tmp_path / "a.gif", [brief], fps=15, speed=15, width=120)
    with Image.open(tmp_path / "a.gif") as picture:
        assert seconds_of(picture) == pytest.approx(count / 15, abs=0.01)


def test_bounds_are_shown_though_the_first_plan_has_none(brief):
    first, second, *others = brief.episodes[0].plans
    plans = (first, replace(second, time=3), *others)
    episode = replace(brief.episodes[0], plans=plans, plan_of_frame=(0, 0, 0, 1, 1, 1, 1))
    unbounded = tuple(replace(plan, lower=None, upper=None) for plan in episode.plans)
    late = replace(episode, plans=(unbounded[0], *episode.plans[1:]))
    none = replace(episode, plans=unbounded)

    def bands(episode):
        film = _Film([(brief, episode)], "dark", 200)
        film.frame(6.0)
        return len(film.axes[0][1].collections)

    assert [bands(one) for one in (episode, late, none)] == [1, 1, 0]


def test_an_mp4_has_all_frames_side_by_side(brief, tmp_path):
    imageio_ffmpeg = pytest.importorskip("imageio_ffmpeg")
    count = write_video(tmp_path / "a.mp4", [brief, brief], fps=10, speed=5, width=200, theme="light")
    frames, _ = imageio_ffmpeg.count_frames_and_secs(str(tmp_path / "a.mp4"))
    assert (count, frames) == (27, 27)
    reader = imageio_ffmpeg.read_frames(str(tmp_path / "a.mp4"))
    about = next(reader)
    assert (about["size"][0], about["fps"]) == (400, 10)
    first = np.frombuffer(next(reader), np.uint8).reshape(about["size"][1], about["size"][0], 3)
    ground = [int(palette("light")["ground"][i : i + 2], 16) for i in (1, 3, 5)]
    assert np.abs(first[2, 2].astype(int) - ground).max() < 8
    assert np.abs(first[:, :200].astype(int) - first[:, 200:]).mean() < 3
    reader.close()


@pytest.mark.parametrize("kind", ["gif", "mp4"])
def test_an_interruption_leaves_no_half_file(brief, tmp_path, kind):
    pytest.importorskip("imageio_ffmpeg")
    (tmp_path / f"a.{kind}").write_text("old")

    def interrupt(done, total):
        if done == 3:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        write_video(tmp_path / f"a.{kind}", [brief], width=200, on_progress=interrupt)
    assert {path.name: path.read_text() for path in tmp_path.iterdir()} == {f"a.{kind}": "old"}


def test_bad_videos_are_refused(brief, tmp_path):
    path = tmp_path / "a.gif"
    for options, sentence in (
        ({"fps": 0}, "1 to 100 frames a second, not 0"),
        ({"speed": -1}, "steps a second, not -1"),
        ({"width": 5}, "120 to 4096 pixels wide, not 5"),
        ({"episode": 7}, "no episode 7: it has 0"),
    ):
        with pytest.raises(ValueError, match=sentence):
            write_video(path, [brief], **options)
    with pytest.raises(ValueError, match=r"ends with .mp4 or .gif"):
        write_video(tmp_path / "a.avi", [brief])
    plain = replace(brief, episodes=(replace(brief.episodes[0], scene=None),))
    with pytest.raises(ValueError, match="has no look"):
        write_video(path, [plain])
    with pytest.raises(ValueError, match="has no look"):
        draw_situations(plain, tmp_path / "a.png")
    assert list(tmp_path.iterdir()) == []


def test_the_best_is_bright():
    assert _shades(np.array([1.0, 3.0, 2.0, -100.0])) == pytest.approx([0.5, 1.0, 0.75, 0.0], abs=0.3)
    assert list(_shades(np.array([2.0, 2.0]))) == [1.0, 1.0]
    colours = palette("dark")
    assert _shade_colour(colours, 1.0) == pytest.approx([int(colours["high"][i : i + 2], 16) / 255 for i in (1, 3, 5)])


def test_situations_are_drawn_as_png_and_svg(macro_despot, tmp_path):
    made = draw_situations(macro_despot, tmp_path / "some.png")
    assert [path.name for path in made] == ["some.png", "some.svg"]
    again = (tmp_path / "some.svg").read_bytes()
    draw_situations(macro_despot, tmp_path / "some.png")
    assert (tmp_path / "some.svg").read_bytes() == again
    with Image.open(tmp_path / "some.png") as picture:
        assert picture.width > 1000
    assert b"<svg" in again


def test_a_gif_is_written_frame_by_frame(tmp_path):
    """All frames are as large as the first; only those at hand are kept in memory."""
    size, count = (800, 600), 40

    def frames():
        for number in range(count):
            frame = np.zeros((*size[::-1], 3), np.uint8)
            frame[:, : 20 * number] = 200, 100, 50
            yield frame

    few = iter([next(frames()), np.full((*size[::-1], 3), (200, 100, 50), np.uint8)])
    tracemalloc.start()
    _write_gif(tmp_path / "a.gif", frames(), few, size, fps=10.0)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 10 * 3 * size[0] * size[1]
    with Image.open(tmp_path / "a.gif") as picture:
        assert (picture.n_frames, picture.size, picture.info["loop"]) == (count, size, 0)
        for number, frame in enumerate(frames()):
            picture.seek(number)
            assert (np.asarray(picture.convert("RGB")) == frame).all()


def test_a_gif_shows_what_does_not_change_longer(tmp_path):
    frames = [np.full((20, 30, 3), value, np.uint8) for value in (0, 0, 0, 255, 255)]
    _write_gif(tmp_path / "a.gif", iter(frames), iter(frames), (30, 20), fps=10.0)
    with Image.open(tmp_path / "a.gif") as picture:
        assert (picture.n_frames, picture.info["duration"]) == (2, 300)
        assert seconds_of(picture) == pytest.approx(0.5)


def test_a_tall_or_endless_video_is_not_begun(brief, tmp_path):
    scene = replace(brief.episodes[0].scene, view=(0.0, 0.0, 1e-9, 1e9))
    tall = replace(brief, episodes=(replace(brief.episodes[0], scene=scene),))
    assert _Film([(tall, tall.episodes[0])], "dark", 120).size[1] < 600
    with pytest.raises(ValueError, match="A video has at most 100,000 frames: show more steps a second than 1e-09"):
        write_video(tmp_path / "a.gif", [brief], speed=1e-9)
    with pytest.raises(ValueError, match="at most 32,768 pixels wide, not 40,960"):
        write_video(tmp_path / "a.gif", [brief] * 10, width=4096)


def test_words_are_no_formulas(brief, tmp_path):
    planner = replace(brief.planner, label="$x^$\x1b[2J")
    episode = replace(
        brief.episodes[0], sprites=((Text(0.0, 0.0, "$_$\0"), Text(1e99, 0.0, "far"), Line(()), Polygon(())),) * 7
    )
    odd = replace(brief, planner=planner, episodes=(episode,))
    assert write_video(tmp_path / "a.gif", [odd], fps=1, speed=10, width=120) == 3


def test_what_a_camera_saw_stands_beside_the_drawing(brief, tmp_path):
    file = BytesIO()
    Image.new("RGB", (64, 48), (200, 30, 30)).save(file, "JPEG")
    seen = replace(brief, episodes=(replace(brief.episodes[0], pictures=(file.getvalue(),) * 7),))
    assert load_again(seen, tmp_path).episodes[0].pictures == seen.episodes[0].pictures
    film = _Film([(seen, seen.episodes[0])], "dark", 200)
    frame = film.frame(3.0)
    assert frame.shape[1] == 400
    np.testing.assert_allclose(frame[frame.shape[0] // 2, 100], (200, 30, 30), atol=8)
    damaged = replace(brief, episodes=(replace(brief.episodes[0], pictures=(b"nothing",) * 7),))
    with pytest.raises(ValueError, match="A picture of the recording is no JPEG"):
        _Film([(damaged, damaged.episodes[0])], "dark", 200).frame(0.0)
    with pytest.raises(ValueError, match="pictures must have 7 entries"):
        replace(brief.episodes[0], pictures=(b"",)).__post_init__()


def load_again(recording, folder):
    save_recording(folder / "r.gz", recording)
    return load_recording(folder / "r.gz")
