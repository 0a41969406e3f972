"""What a person looks at: pages, videos and reports of stored results."""

from typing import TYPE_CHECKING

from magic_pomdp._lazy import lazy_names

if TYPE_CHECKING:
    from magic_pomdp.show.replay import write_replay as write_replay
    from magic_pomdp.show.report import write_report as write_report
    from magic_pomdp.show.results import read_results as read_results
    from magic_pomdp.show.video import write_video as write_video

__all__ = [
    "read_results",
    "write_replay",
    "write_report",
    "write_video",
]

__getattr__, __dir__ = lazy_names(
    __name__,
    {
        "show.replay": ("write_replay",),
        "show.report": ("write_report",),
        "show.results": ("read_results",),
        "show.video": ("write_video",),
    },
)
